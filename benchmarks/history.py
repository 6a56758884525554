"""A made-up history that looks like a real one, as a Mercurial changegroup, from a seed alone.

Texts are lines of words drawn by rank, as in prose and programs; files are of log-normal size; a
few are touched all the time and most hardly ever; lines of work fork from the trunk and are merged
back. The same shape and seed give the same bytes everywhere, so two measurements are of one thing.

Wire:   changegroup 02 as the one part of an uncompressed bundle2 file.
Source: hg 7.2.4, helptext/internals/{bundles,bundle2,changegroups,revlogs}.txt.
"""

from __future__ import annotations

import bisect
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from itertools import accumulate

NULL = bytes(20)
EPOCH_SECONDS = 1_200_000_000
VOCABULARY_WORDS = 24_000
LONG_FILE_LINES = 1_500
# Chosen so that the raw changegroup is like that of a real C project of 19,000 changesets: about
# 1 kB a revision, packed 4.3 times by zstd 3 and 3.6 times by zlib 6.
NEW_LINE_CHANCE = 0.16
OWN_LINE_CHANCE = 0.66
KNOWN_LINES = 6_000
OWN_LINES = 48


@dataclass(frozen=True)
class Shape:
    """How large and how branchy. `file_lines` and `edit_lines` are means; `imported` files come
    with the first changeset, as where a history begins with an import.
    """

    seed: int
    changesets: int
    files: int
    file_lines: int
    edit_lines: int
    files_per_changeset: float
    fork_chance: float
    open_heads: int
    imported: int = 0


SHAPES = {
    "small": Shape(1, 600, 150, 60, 6, 3.0, 0.06, 3),
    "large": Shape(2, 56_000, 5_400, 130, 11, 3.2, 0.05, 12),
    # For pushes: each round has a copy of its own.
    "push": Shape(4, 6_000, 1_500, 100, 8, 3.0, 0.05, 4),
    # For stream clones: what they cost is files to open, and there are many here.
    "wide": Shape(3, 1_500, 38_000, 560, 11, 3.2, 0.05, 4, 37_500),
}


class Words:
    """Lines of text. Frequent words are short and come often, as in any language."""

    def __init__(self, rng: random.Random) -> None:
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        self._rng = rng
        self._words = [
            "".join(rng.choice(letters[: 8 + rank % 18]) for _ in range(2 + rank.bit_length() // 2))
            for rank in range(1, VOCABULARY_WORDS)
        ]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self._words))))
        self._pool = [self._make_line() for _ in range(KNOWN_LINES)]

    def _make_line(self) -> bytes:
        rng = self._rng
        words = rng.choices(self._words, cum_weights=self._weights, k=rng.randrange(2, 12))
        text = " " * (4 * rng.randrange(4)) + rng.choice((" ", "_", "(", " = ", ".")).join(words)
        return text.encode() + b"\n"

    def line(self, own: list[bytes]) -> bytes:
        """Most lines are like others in their file (`own`), or like one that exists somewhere."""
        rng = self._rng
        chance = rng.random()
        if chance < NEW_LINE_CHANCE:
            return self._make_line()
        if chance < NEW_LINE_CHANCE + OWN_LINE_CHANCE:
            return own[int(rng.random() ** 2 * len(own))]
        return self._pool[int(rng.random() ** 2 * len(self._pool))]

    def own_lines(self) -> list[bytes]:
        return [self._make_line() for _ in range(OWN_LINES)]

    def lines(self, count: int, own: list[bytes]) -> list[bytes]:
        return [self.line(own) for _ in range(count)]

    def words(self, count: int) -> str:
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=count))


Nodes = dict[bytes, bytes]


@dataclass
class Head:
    """One line of work: what its newest changeset's manifest holds."""

    node: bytes
    manifest: bytes
    paths: list[bytes] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    nodes: dict[bytes, bytes] = field(default_factory=dict)
    touched: set[bytes] = field(default_factory=set)

    def fork(self) -> Head:
        return Head(self.node, self.manifest, list(self.paths), list(self.lines), dict(self.nodes))


def make_node(text: bytes, p1: bytes, p2: bytes) -> bytes:
    first, second = sorted((p1, p2))
    return sha1(first + second + text).digest()


def format_chunk(
    node: bytes, p1: bytes, p2: bytes, base: bytes, link: bytes, delta: bytes
) -> bytes:
    return struct.pack(">i", 104 + len(delta)) + node + p1 + p2 + base + link + delta


def format_hunk(start: int, end: int, data: bytes) -> bytes:
    return struct.pack(">iii", start, end, len(data)) + data


class History:
    """Makes the three kinds of groups; `groups()` gives the bytes once `run` is through."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._rng = random.Random(shape.seed)
        self._words = Words(self._rng)
        self._texts: dict[tuple[bytes, bytes], list[bytes]] = {}
        self._own: dict[bytes, list[bytes]] = {}
        self._changelog: list[bytes] = []
        self._manifests: list[bytes] = []
        self._files: dict[bytes, list[bytes]] = {}
        self._names = self._make_names()
        self._heads: list[Head] = [Head(NULL, NULL)]
        self.count = 0

    def _make_names(self) -> list[bytes]:
        rng, names = self._rng, set[bytes]()
        folders = [self._words.words(rng.randrange(1, 4)).replace(" ", "/") for _ in range(220)]
        while len(names) < self.shape.files:
            stem = self._words.words(2).replace(" ", rng.choice(("", "_", "-", "Of")))
            kind = rng.choice((".c", ".h", ".py", ".txt", ".cpp", ".xml", ".JS"))
            names.add(f"{rng.choice(folders)}/{stem}{kind}".encode())
        ordered = sorted(names)
        # No name may be both a file and a folder.
        inner = {name[:cut] for name in ordered for cut, byte in enumerate(name) if byte == 0x2F}
        kept = [name for name in ordered if name not in inner]
        rng.shuffle(kept)
        return kept

    # -- files

    def _commit_file(self, head: Head, path: bytes, other: bytes, link_of: list[bytes]) -> None:
        """Edit (or add) one file; its chunk gets its link node when the changeset is known."""
        rng, shape = self._rng, self.shape
        p1 = head.nodes.get(path, NULL)
        if path not in self._own:
            self._own[path] = self._words.own_lines()
        own = self._own[path]
        if p1 == NULL:
            size = max(3, int(rng.lognormvariate(0, 0.9) * shape.file_lines))
            lines = self._words.lines(size, own)
            delta = format_hunk(0, 0, b"".join(lines))
        else:
            lines = list(self._texts[path, p1])
            hunks = []
            for _ in range(1 + (rng.random() < 0.3)):
                at = rng.randrange(len(lines) + 1)
                count = max(1, int(rng.expovariate(1 / shape.edit_lines)))
                new = self._words.lines(count, own)
                # As much goes as comes in the long run, so that no file grows without end.
                gone = min(int(rng.expovariate(1 / shape.edit_lines)), len(lines) - at)
                gone += (len(lines) - at - gone) // 8 if len(lines) > LONG_FILE_LINES else 0
                hunks.append((at, gone, new))
            hunks.sort(key=lambda hunk: hunk[0])
            if len(hunks) == 2 and hunks[0][0] + hunks[0][1] >= hunks[1][0]:
                hunks.pop()  # they overlap or touch
            ends = [0, *accumulate(map(len, lines))]
            delta = b"".join(
                format_hunk(ends[at], ends[at + gone], b"".join(new)) for at, gone, new in hunks
            )
            for at, gone, new in reversed(hunks):
                lines[at : at + gone] = new
        text = b"".join(lines)
        p2 = other if other != p1 else NULL
        node = make_node(text, p1, p2)
        if (path, node) in self._texts or node == p1:
            return
        self._texts[path, node] = lines
        group = self._files.setdefault(path, [])
        link_of.append(path)
        group.append(format_chunk(node, p1, p2, p1, NULL, delta))
        head.nodes[path] = node
        head.touched.add(path)

    def _link_files(self, paths: list[bytes], link: bytes) -> None:
        for path in paths:
            chunk = self._files[path][-1]
            self._files[path][-1] = chunk[:84] + link + chunk[104:]

    # -- manifests

    def _commit_manifest(self, head: Head, before: Nodes, p2: bytes) -> tuple[bytes, list[bytes]]:
        """The new manifest's node, and the paths that it changes."""
        changed = [path for path, node in sorted(before.items()) if head.nodes[path] != node]
        ends = [0, *accumulate(len(path) + 42 for path in head.paths)]
        hunks: list[tuple[int, int, bytes]] = []
        for path in changed:
            line = b"%s\0%s\n" % (path, head.nodes[path].hex().encode())
            at = bisect.bisect_left(head.paths, path)
            start, stop = ends[at], ends[at + (before[path] != NULL)]
            if hunks and hunks[-1][1] == start:  # neighbours are one hunk, as Mercurial wants it
                start, line = hunks[-1][0], hunks.pop()[2] + line
            hunks.append((start, stop, line))
        for path in changed:
            at = bisect.bisect_left(head.paths, path)
            line = b"%s\0%s\n" % (path, head.nodes[path].hex().encode())
            if before[path] == NULL:
                head.paths.insert(at, path)
                head.lines.insert(at, line)
            else:
                head.lines[at] = line
        text = b"".join(head.lines)
        node = make_node(text, head.manifest, p2)
        self._manifests.append(
            format_chunk(
                node,
                head.manifest,
                p2,
                head.manifest,
                NULL,
                b"".join(format_hunk(*hunk) for hunk in hunks),
            )
        )
        return node, changed

    # -- changesets

    def _commit(self, head: Head, paths: list[bytes], merged: Head | None = None) -> None:
        linked: list[bytes] = []
        before = {
            path: head.nodes.get(path, NULL)
            for path in (*paths, *(merged.touched if merged else ()))
        }
        if merged:
            for path in sorted(merged.touched):
                theirs, ours = merged.nodes[path], head.nodes.get(path)
                if ours is None or path not in head.touched:
                    head.nodes[path] = theirs
                elif theirs != ours:
                    self._commit_file(head, path, theirs, linked)
        for path in paths:
            if path not in linked:
                self._commit_file(head, path, NULL, linked)
        p2 = merged.node if merged else NULL
        manifest, files = self._commit_manifest(head, before, merged.manifest if merged else NULL)
        words = self._words
        author = f"Dev {self._rng.randrange(90)} <dev@example.org>"
        description = words.words(self._rng.randrange(5, 12))
        if self._rng.random() < 0.4:
            description += "\n\n" + words.words(self._rng.randrange(20, 70))
        date = f"{EPOCH_SECONDS + 900 * self.count} 0"
        text = b"%s\n%s\n%s\n%s\n\n%s" % (
            manifest.hex().encode(),
            author.encode(),
            date.encode(),
            b"\n".join(files),
            description.encode(),
        )
        node = make_node(text, head.node, p2)
        base = self._changelog[-1][4:24] if self._changelog else NULL
        whole = format_hunk(0, self._last_length, text)
        self._changelog.append(format_chunk(node, head.node, p2, base, node, whole))
        self._last_length = len(text)
        chunk = self._manifests[-1]
        self._manifests[-1] = chunk[:84] + node + chunk[104:]
        self._link_files(linked, node)
        head.node, head.manifest = node, manifest
        self.count += 1

    _last_length = 0

    def _pick_paths(self, head: Head) -> list[bytes]:
        if self.count < 1 and self.shape.imported:
            return self._names[: self.shape.imported]
        rng = self._rng
        count = min(1 + int(rng.expovariate(1 / self.shape.files_per_changeset)), 60)
        known = len(head.paths)
        wanted = int(len(self._names) * (self.count / self.shape.changesets) ** 0.6) + 40
        picked: dict[bytes, None] = {}
        for _ in range(count):
            if known < min(wanted, len(self._names)) and rng.random() < 0.5:
                path = self._names[min(known + len(picked), len(self._names) - 1)]
            else:
                rank = int(rng.paretovariate(0.6)) - 1
                path = self._names[rank % max(1, min(wanted, len(self._names)))]
            picked[path] = None
        return list(picked)

    def _drop_old_texts(self) -> None:
        alive = {(path, node) for head in self._heads for path, node in head.nodes.items()}
        self._texts = {key: lines for key, lines in self._texts.items() if key in alive}

    def run(self) -> Iterator[int]:
        """Make every changeset; yields how many there are, for a progress bar."""
        rng, shape, heads = self._rng, self.shape, self._heads
        while self.count < shape.changesets:
            trunk = heads[0]
            closing = shape.changesets - self.count < 4 * shape.open_heads
            if self.count > 20 and len(heads) < 6 and rng.random() < shape.fork_chance:
                heads.append(trunk.fork())
                trunk.touched = set()
            if closing and len(heads) < shape.open_heads:
                heads.append(trunk.fork())
                self._commit(heads[-1], self._pick_paths(heads[-1]))
            elif not closing and len(heads) > 2 and rng.random() < shape.fork_chance:
                other = heads.pop(rng.randrange(1, len(heads)))
                if other.node != trunk.node:
                    self._commit(trunk, self._pick_paths(trunk), other)
            else:
                head = rng.choice(heads) if rng.random() < 0.35 else trunk
                self._commit(head, self._pick_paths(head))
            if self.count % 200 == 0:
                self._drop_old_texts()
                yield self.count
        yield self.count

    def groups(self) -> Iterator[bytes]:
        """The changegroup, block by block."""
        end = bytes(4)
        yield b"".join(self._changelog) + end
        yield from self._manifests
        yield end
        for path in sorted(self._files):
            yield struct.pack(">i", 4 + len(path)) + path
            yield b"".join(self._files[path]) + end
        yield end


def format_bundle(groups: Iterator[bytes], changesets: int) -> Iterator[bytes]:
    """A bundle2 file with one changegroup part."""
    yield b"HG20" + struct.pack(">i", 0)
    params = ((b"version", b"02"), (b"nbchanges", b"%d" % changesets))
    header = bytes([len(b"CHANGEGROUP")]) + b"CHANGEGROUP" + struct.pack(">I", 0)
    header += bytes([1, 1])
    header += b"".join(bytes([len(name), len(value)]) for name, value in params)
    header += b"".join(name + value for name, value in params)
    yield struct.pack(">i", len(header)) + header
    held: list[bytes] = []
    size = 0
    for block in groups:
        held.append(block)
        size += len(block)
        if size >= 1 << 18:
            yield struct.pack(">i", size)
            yield from held
            held, size = [], 0
    if size:
        yield struct.pack(">i", size)
        yield from held
    yield struct.pack(">ii", 0, 0)
