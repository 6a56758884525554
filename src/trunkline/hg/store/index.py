"""The index of one revlog: what stands in a `.i` file beside the data.

Two forms with the same verbs. `RowIndex` keeps one plain tuple a revision, made by the C code of
`struct`: best for the very many small filelogs, where numpy's fixed cost would dominate.
`ColumnIndex` keeps the file's own bytes and looks at them as numpy columns: best for the changelog
and the manifest, of which there are hundreds of thousands of revisions.

Wire:   64 bytes a revision: uint64 BE offset << 16 | flags; int32 BE stored length, full length,
        delta base, link revision, parents; 20 bytes of node and 12 of padding. The first four
        bytes of the file hold version and flags instead of the top of revision 0's offset (0).
        An inline file has each entry followed at once by its stored chunk.
Source: hg 7.2.4, mercurial/helptext/internals/revlogs.txt.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, NULL_REV, Node, Rev

ENTRY: Final = struct.Struct(">Qiiiiii20s12x")
ENTRY_LENGTH: Final = 64
NODE_AT: Final = 32  # bytes into an entry

REVLOGV1: Final = 1
FLAG_INLINE: Final = 1 << 16
FLAG_GENERAL_DELTA: Final = 1 << 17
KNOWN_FLAGS: Final = FLAG_INLINE | FLAG_GENERAL_DELTA

# offset << 16 | flags, stored length, full length, delta base as stored, link revision, p1, p2,
# node. A bare tuple on purpose: millions of them are made, by `struct`, and taken apart at once.
Row = tuple[int, int, int, int, int, int, int, bytes]
# offset, flags, stored length, full length, delta parent (-1: full text), link revision, p1, p2,
# node.
Entry = tuple[int, int, int, int, int, int, int, int, bytes]

COLUMNS: Final = np.dtype(
    [
        ("offset_flags", ">u8"),
        ("stored", ">i4"),
        ("full", ">i4"),
        ("base", ">i4"),
        ("linkrev", ">i4"),
        ("p1", ">i4"),
        ("p2", ">i4"),
        ("node", "V20"),
        ("padding", "V12"),
    ]
)


class Header(NamedTuple):
    """What the first four bytes of an index file say."""

    is_inline: bool
    is_general_delta: bool


def parse_header(data: bytes, path: str | None = None) -> Header:
    """Raises: StoreError for a version or flag that isn't revlog 1."""
    if len(data) < 4:
        return Header(False, True)
    word = int.from_bytes(data[:4], "big")
    if word & 0xFFFF != REVLOGV1 or word & ~0xFFFF & ~KNOWN_FLAGS:
        raise StoreError(f"not a revlog 1 index (header {word:#010x})", path, 0)
    return Header(bool(word & FLAG_INLINE), bool(word & FLAG_GENERAL_DELTA))


class Spans(NamedTuple):
    """Where the chunks of some revisions stand in the data file. Units: bytes."""

    starts: list[int]
    lengths: list[int]


class Index(ABC):
    """One revlog's index, limited to what belongs to the snapshot. `is_empty`: there is nothing in
    the file; `is_cut`: it doesn't end with a whole entry.
    """

    __slots__ = ("count", "end", "is_cut", "is_empty", "is_general_delta", "is_inline")

    count: int
    is_inline: bool
    is_general_delta: bool
    is_cut: bool
    is_empty: bool
    end: int  # bytes of the file that are whole entries, of later changesets too

    @abstractmethod
    def rows(self, start: int = 0, stop: int | None = None) -> Sequence[Row]:
        """The plain tuples of the revisions `start` to `stop`."""

    @abstractmethod
    def row(self, rev: int) -> Row: ...

    @abstractmethod
    def rev(self, node: bytes) -> Rev | None:
        """The revision of a node; -1 for the null node, None for one that isn't here."""

    @abstractmethod
    def spans(self, revs: Iterable[int]) -> Spans: ...

    def file_length(self) -> int:
        """Bytes of the `.i` file that hold these revisions."""
        entries = ENTRY_LENGTH * self.count
        if not self.is_inline or not self.count:
            return entries
        last = self.row(self.count - 1)
        return entries + (last[0] >> 16) + last[1]

    def base(self, rev: int) -> int:
        """What the stored chunk is a delta against; -1 when it is a full text."""
        base = self.row(rev)[3]
        if base == rev:
            return NULL_REV
        return base if self.is_general_delta else rev - 1

    def entries(self) -> list[Entry]:
        if self.is_general_delta:
            return [
                (r[0] >> 16, r[0] & 0xFFFF, r[1], r[2], -1 if r[3] == n else r[3], *r[4:])
                for n, r in enumerate(self.rows())
            ]
        return [
            (r[0] >> 16, r[0] & 0xFFFF, r[1], r[2], -1 if r[3] == n else n - 1, *r[4:])
            for n, r in enumerate(self.rows())
        ]


class RowIndex(Index):
    """An index as a list of tuples. `linkrev_limit`: the number of changesets that are known;
    revisions at the end that belong to later ones are dropped.
    """

    __slots__ = ("_revs", "_rows")

    def __init__(
        self, data: bytes, linkrev_limit: int | None = None, path: str | None = None
    ) -> None:
        self.is_inline, self.is_general_delta = parse_header(data, path)
        rows = walk_inline(data, path) if self.is_inline else unpack_entries(data)
        if rows:
            first = rows[0]
            rows[0] = (first[0] & 0xFFFF, *first[1:])
        self._rows = rows
        self.count = len(rows)
        self.end = self.file_length()
        self.is_cut = self.end != len(data)
        self.is_empty = not data
        if linkrev_limit is not None:
            while rows and rows[-1][4] >= linkrev_limit:
                rows.pop()
            self.count = len(rows)
        self._revs: dict[bytes, int] | None = None

    def rows(self, start: int = 0, stop: int | None = None) -> Sequence[Row]:
        return self._rows if not start and stop is None else self._rows[start:stop]

    def row(self, rev: int) -> Row:
        if rev < 0:
            raise IndexError(rev)
        return self._rows[rev]

    def rev(self, node: bytes) -> Rev | None:
        if self._revs is None:
            self._revs = {row[7]: rev for rev, row in enumerate(self._rows)}
        rev = self._revs.get(node)
        if rev is None:
            return NULL_REV if node == NULL_NODE else None
        return Rev(rev)

    def spans(self, revs: Iterable[int]) -> Spans:
        rows = self._rows
        chosen = [rows[rev] for rev in revs]
        lengths = [row[1] for row in chosen]
        if not self.is_inline:
            return Spans([row[0] >> 16 for row in chosen], lengths)
        starts = [
            (row[0] >> 16) + ENTRY_LENGTH * (rev + 1) for row, rev in zip(chosen, revs, strict=True)
        ]
        return Spans(starts, lengths)


class ColumnIndex(Index):
    """An index as its own bytes, one entry after the other, and numpy columns on them.

    Holds: 64 bytes a revision, and once nodes are looked up 12 to 16 more.
    """

    def __init__(self, entries: bytes, header: Header) -> None:
        self.is_inline, self.is_general_delta = header
        self.is_cut = False
        self.is_empty = not entries
        self.count = len(entries) // ENTRY_LENGTH
        self.header = header
        self.raw = entries
        self.columns: NDArray[Any] = np.frombuffer(entries, COLUMNS, self.count)
        self.end = self.file_length()

    def rows(self, start: int = 0, stop: int | None = None) -> Sequence[Row]:
        stop = self.count if stop is None else min(stop, self.count)
        view = memoryview(self.raw)[start * ENTRY_LENGTH : stop * ENTRY_LENGTH]
        rows: list[Row] = list(ENTRY.iter_unpack(view))
        if start == 0 and rows:
            rows[0] = (rows[0][0] & 0xFFFF, *rows[0][1:])
        return rows

    def row(self, rev: int) -> Row:
        if not 0 <= rev < self.count:
            raise IndexError(rev)
        row: Row = ENTRY.unpack_from(self.raw, rev * ENTRY_LENGTH)
        return row if rev else (row[0] & 0xFFFF, *row[1:])

    def node(self, rev: int) -> Node:
        if not 0 <= rev < self.count:
            raise IndexError(rev)
        at = rev * ENTRY_LENGTH + NODE_AT
        return Node(self.raw[at : at + 20])

    def rev(self, node: bytes) -> Rev | None:
        if node == NULL_NODE:
            return NULL_REV
        keys, order = self._sorted
        key = int.from_bytes(node[:8], "big")
        at = int(np.searchsorted(keys, np.uint64(key)))
        while at < self.count and int(keys[at]) == key:
            rev = int(order[at])
            if self.node(rev) == node:
                return Rev(rev)
            at += 1
        return None

    def revs(self, nodes: Sequence[bytes]) -> NDArray[np.int32]:
        """The revisions of many nodes at once: -1 for the null node, -2 for an unknown one."""
        if not nodes:
            return np.empty(0, np.int32)
        joined = b"".join(nodes)
        if len(joined) != 20 * len(nodes):
            raise ValueError("a node has 20 bytes")
        asked = np.frombuffer(joined, "u1").reshape(-1, 20)
        keys, order = self._sorted
        wanted = np.ascontiguousarray(asked[:, :8]).view(">u8").ravel().astype(np.uint64)
        found = np.full(len(nodes), -2, np.int32)
        if self.count:
            at = np.searchsorted(keys, wanted)
            at[at == self.count] = 0
            candidates = order[at]
            is_same = (self._nodes[candidates] == asked).all(axis=1)
            found[is_same] = candidates[is_same]
            # Two nodes with the same first 8 bytes: ask for each alone.
            for i in np.flatnonzero(~is_same & (keys[at] == wanted)).tolist():
                rev = self.rev(nodes[i])
                found[i] = -2 if rev is None else rev
        found[~asked.any(axis=1)] = NULL_REV
        return found

    def ranks(self, visible: NDArray[np.bool_]) -> NDArray[np.int32]:
        """For each place in the order of the nodes, and for the end: how many of those before it
        are `visible`.
        """
        found = np.zeros(self.count + 1, np.int32)
        np.cumsum(visible[self._sorted[1]], out=found[1:])
        return found

    def revs_with_prefix(
        self, prefix: bytes, limit: int = 2, ranks: NDArray[np.int32] | None = None
    ) -> list[Rev]:
        """Up to `limit` revisions, in no order, whose hex node starts with `prefix`. With `ranks`,
        of those only that were visible for them: what isn't costs nothing, how much it may be.

        The prefix has 1 to 40 lower-case hex digits.
        """
        low = int(prefix[:16].ljust(16, b"0"), 16)
        high = int(prefix[:16].ljust(16, b"f"), 16)
        keys, order = self._sorted
        first = int(np.searchsorted(keys, np.uint64(low)))
        last = int(np.searchsorted(keys, np.uint64(high), side="right"))
        places: Iterable[int] = range(first, last)
        if ranks is not None:
            ranked = range(ranks[first], ranks[last])
            places = (int(np.searchsorted(ranks, np.int32(n), "right")) - 1 for n in ranked)
        found: list[Rev] = []
        for at in places:
            rev = int(order[at])
            if self.node(rev).hex().encode().startswith(prefix):
                found.append(Rev(rev))
                if len(found) == limit:
                    break
        return found

    def spans(self, revs: Iterable[int]) -> Spans:
        chosen = np.fromiter(revs, np.int64)
        starts = self.offsets_of(chosen)
        if self.is_inline:
            starts = starts + ENTRY_LENGTH * (chosen + 1)
        return Spans(starts.tolist(), self.columns["stored"][chosen].tolist())

    def learn(self, older: ColumnIndex) -> None:
        """Take over the order of nodes that an index has which this one goes on from."""
        if "_sorted" not in older.__dict__ or not self.raw.startswith(older.raw):
            return
        keys, order = older._sorted
        new_keys = self._keys(older.count)
        new_order = np.argsort(new_keys, kind="stable").astype(np.int32)
        new_keys = new_keys[new_order]
        places = np.searchsorted(keys, new_keys)
        self.__dict__["_sorted"] = (
            np.insert(keys, places, new_keys),
            np.insert(order, places, new_order + np.int32(older.count)),
        )

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each chunk starts, as the index says it (an inline file's entries not counted)."""
        return self.offsets_of(np.arange(self.count))

    def offsets_of(self, revs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for some revisions."""
        words: NDArray[np.uint64] = self.columns["offset_flags"][revs] >> np.uint64(16)
        offsets = words.astype(np.int64)
        offsets[revs == 0] = 0
        return offsets

    def is_full(self, revs: Sequence[int]) -> bool:
        """Are all of them stored as full texts?"""
        chosen = np.asarray(revs, np.int64)
        return bool((self.columns["base"][chosen] == chosen).all())

    @cached_property
    def p1(self) -> NDArray[np.int32]:
        return self.columns["p1"].astype(np.int32)

    @cached_property
    def p2(self) -> NDArray[np.int32]:
        return self.columns["p2"].astype(np.int32)

    @cached_property
    def linkrevs(self) -> NDArray[np.int32]:
        return self.columns["linkrev"].astype(np.int32)

    @cached_property
    def flags(self) -> NDArray[np.uint16]:
        return self.columns["offset_flags"].astype(np.uint16)

    @property
    def _nodes(self) -> NDArray[np.uint8]:
        table = np.frombuffer(self.raw, np.uint8, self.count * ENTRY_LENGTH)
        return table.reshape(-1, ENTRY_LENGTH)[:, NODE_AT : NODE_AT + 20]

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """The first 8 bytes of every node in order, and the revision of each."""
        keys = self._keys(0)
        order = np.argsort(keys, kind="stable").astype(np.int32)
        return keys[order], order

    def _keys(self, start: int) -> NDArray[np.uint64]:
        heads = np.ascontiguousarray(self._nodes[start:, :8])
        return heads.view(">u8").ravel().astype(np.uint64)


def unpack_entries(data: bytes) -> list[Row]:
    """The whole entries of a split index, the first one as it stands in the file."""
    whole = len(data) // ENTRY_LENGTH * ENTRY_LENGTH
    return list(ENTRY.iter_unpack(data if whole == len(data) else data[:whole]))


def walk_inline(data: bytes, path: str | None = None) -> list[Row]:
    """The entries of an inline file whose chunk is there too. Raises: StoreError."""
    rows: list[Row] = []
    at, end = 0, len(data) - ENTRY_LENGTH
    unpack, append = ENTRY.unpack_from, rows.append
    while at <= end:
        row: Row = unpack(data, at)
        if row[1] < 0:
            raise StoreError("a stored length below zero", path, at)
        at += ENTRY_LENGTH + row[1]
        append(row)
    if rows and at > len(data):
        rows.pop()  # being written
    return rows


def join_entries(data: bytes, path: str | None = None) -> bytes:
    """The entries of an inline file, one after the other. Raises: StoreError."""
    places = [0]
    for row in walk_inline(data, path):
        places.append(places[-1] + ENTRY_LENGTH + row[1])
    return b"".join(data[at : at + ENTRY_LENGTH] for at in places[:-1])
