"""A revlog, read-only: revisions of one file, of the manifest or of the changelog.

Reads are at explicit offsets, so any number of threads may use one object. Nothing is read past
what the index (cut to the snapshot) knows.

Source: hg 7.2.4, mercurial/helptext/internals/revlogs.txt and revlog.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha1
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, NULL_REV, Node, Rev
from trunkline.hg.store.chunk import decompress
from trunkline.hg.store.delta import apply_patches
from trunkline.hg.store.index import (
    ENTRY_LENGTH,
    ColumnIndex,
    Entry,
    Index,
    Row,
    RowIndex,
    join_entries,
    parse_header,
)
from trunkline.hg.store.links import READ, why

FLAG_CENSORED: Final = 0x8000
FLAG_ELLIPSIS: Final = 0x4000
FLAG_EXTSTORED: Final = 0x2000
# The node is the hash of another text than the stored one.
HASH_DIFFERS: Final = FLAG_ELLIPSIS | FLAG_EXTSTORED | FLAG_CENSORED

BLOCK_LIMIT: Final = 1 << 20  # bytes of one read that gathers several chunks
GAP_LIMIT: Final = 1 << 14  # bytes between two wanted chunks that are cheaper read than skipped
FIRST_READ: Final = 1 << 16  # bytes; most index files are shorter, and cost one read
BATCH: Final = 2048  # revisions whose places are held at a time
SPARSE_LIMIT: Final = 1 << 15  # bytes of index; above it numpy's fixed cost is the smaller one


_ROOT: Final = sha1(2 * NULL_NODE, usedforsecurity=False)


def text_hash(p1: bytes, p2: bytes, text: bytes | memoryview) -> bytes:
    """The node of a text with these parents."""
    if p1 == p2 == NULL_NODE:
        digest = _ROOT.copy()
    else:
        digest = sha1(p1 + p2 if p1 < p2 else p2 + p1, usedforsecurity=False)
    digest.update(text)
    return digest.digest()


class CensoredRevision(StoreError):
    """The text was removed on purpose; `tombstone` is what stands in its place."""

    def __init__(self, tombstone: bytes, path: str) -> None:
        super().__init__("a censored revision", path)
        self.tombstone = tombstone


class DataFile:
    """The bytes of a `.d` file (or of a large inline `.i`), opened when first read."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = -1

    def read(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes. Raises: StoreError when they aren't there."""
        try:
            if self._descriptor < 0:
                self._open()
            data = os.pread(self._descriptor, length, offset)
            while 0 < len(data) < length:
                more = os.pread(self._descriptor, length - len(data), offset + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise StoreError(f"can't read ({why(error)})", self.path, offset) from None
        if len(data) != length:
            raise StoreError(f"{length} bytes wanted, {len(data)} there", self.path, offset)
        return data

    def is_there(self) -> bool:
        """Whether there is a file; it stays open. Raises: StoreError for one that can't be read."""
        try:
            if self._descriptor < 0:
                self._open()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StoreError(f"can't read ({why(error)})", self.path) from None
        return True

    def _open(self) -> None:
        descriptor = os.open(self.path, READ)
        if self._descriptor < 0:
            self._descriptor = descriptor
        else:  # another thread was faster
            os.close(descriptor)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


class Revlog:
    """`held` is the whole file when it is inline and was read in one go (every filelog that is
    inline), else None: a packer slices it instead of reading.
    """

    __slots__ = ("_file", "count", "held", "index", "path")

    def __init__(self, path: str, index: Index, held: bytes | None = None) -> None:
        self.path = path
        self.index = index
        self.held = held if index.is_inline else None
        self.count = index.count
        self._file: DataFile | None = None

    def is_sound(self) -> bool:
        """Whether the files are what Mercurial leaves when it is done with them: both there, and
        whole entries to the end.
        """
        if self.index.is_cut or self.index.is_empty:
            return False
        if self.index.is_inline or not self.count:
            return True
        if self._file is None:
            self._file = DataFile(self.data_path)
        return self._file.is_there()

    def __len__(self) -> int:
        return self.count

    # -- one revision

    def node(self, rev: int) -> Node:
        return NULL_NODE if rev == NULL_REV else Node(self.index.row(rev)[7])

    def rev(self, node: bytes) -> Rev | None:
        """-1 for the null node, None for a node that isn't here."""
        return self.index.rev(node)

    def parents(self, rev: int) -> tuple[Rev, Rev]:
        row = self.index.row(rev)
        return Rev(row[5]), Rev(row[6])

    def linkrev(self, rev: int) -> Rev:
        return Rev(self.index.row(rev)[4])

    def flags(self, rev: int) -> int:
        return self.index.row(rev)[0] & 0xFFFF

    def base(self, rev: int) -> int:
        """The revision that `stored` is a delta against; -1 when it is the full text."""
        return self.index.base(rev)

    # -- all of them

    def rows(self, start: int = 0, stop: int | None = None) -> Sequence[Row]:
        """The cheapest form there is of the index: see `index.Row`."""
        return self.index.rows(start, stop)

    def entries(self) -> list[Entry]:
        """As `rows`, with offset and flags apart and the delta parent worked out."""
        return self.index.entries()

    # -- bytes

    @property
    def data_path(self) -> str:
        return self.path if self.index.is_inline else self.path[:-2] + ".d"

    def read_raw(self, offset: int, length: int) -> bytes:
        """Bytes of the data file (for an inline revlog: of the index file). Raises: StoreError."""
        if self.held is not None:
            data = self.held[offset : offset + length]
            if len(data) != length:
                raise StoreError(f"{length} bytes wanted, {len(data)} there", self.path, offset)
            return data
        if self._file is None:
            self._file = DataFile(self.data_path)
        return self._file.read(offset, length)

    def start(self, rev: int) -> int:
        """Where the chunk of `rev` starts in the data file, for `read_raw`."""
        offset = self.index.row(rev)[0] >> 16
        return offset + ENTRY_LENGTH * (rev + 1) if self.index.is_inline else offset

    def entry_at(self, rev: int) -> int:
        """Where the entry of `rev` starts in the index file (bytes)."""
        return self.start(rev) - ENTRY_LENGTH if self.index.is_inline else rev * ENTRY_LENGTH

    def fault(self, rev: int, text: str) -> StoreError:
        """Something is wrong with what the index says of `rev`."""
        return StoreError(f"revision {rev} {text}", self.path, self.entry_at(rev))

    def fault_in_text(self, rev: int, text: str) -> StoreError:
        """Something is wrong with the stored bytes of `rev`."""
        return StoreError(f"revision {rev}: {text}", self.data_path, self.start(rev))

    def find_stray(self) -> StoreError:
        """Which revision has a parent or base that isn't there or doesn't come before it, or less
        than nothing stored."""
        for rev, row in enumerate(self.rows()):
            if row[1] < 0:
                return self.fault(rev, "has a stored length below zero")
            if not all(NULL_REV <= parent < rev for parent in row[5:7]):
                return self.fault(rev, "has a parent that isn't there")
            if not NULL_REV <= row[3] <= rev:
                return self.fault(rev, f"is a delta against {row[3]}")
        return StoreError("a parent or base isn't there", self.path)

    def stored(self, rev: int) -> bytes:
        """The decompressed chunk: a delta against `base(rev)`, or the full text."""
        chunk = self.read_raw(self.start(rev), self.index.row(rev)[1])
        try:
            return decompress(chunk)
        except StoreError as error:
            raise StoreError(error.text, self.data_path, self.start(rev)) from None

    def stored_many(self, revs: Iterable[int]) -> Iterator[bytes]:
        """As `stored`, for each of `revs` in their order, with few and large reads."""
        turn = iter(revs)
        while batch := list(islice(turn, BATCH)):
            starts, lengths = self.index.spans(batch)
            if self.held is not None:
                yield from self._cut(self.held, 0, starts, lengths)
                continue
            at = 0
            while at < len(batch):
                after, end = gather(starts, lengths, at)
                first = starts[at]
                block = self.read_raw(first, end - first)
                yield from self._cut(block, first, starts[at:after], lengths[at:after])
                at = after

    def _cut(
        self, block: bytes, first: int, starts: list[int], lengths: list[int]
    ) -> Iterator[bytes]:
        for start, length in zip(starts, lengths, strict=True):
            chunk = block[start - first : start - first + length]
            try:
                yield decompress(chunk)
            except StoreError as error:
                raise StoreError(error.text, self.data_path, start) from None

    def text(self, rev: int) -> bytes:
        """The full text as it is stored, checked against the node.

        Raises: CensoredRevision; StoreError when the text isn't what the node says.
        """
        text = self.unchecked_text(rev)
        if self.flags(rev) & FLAG_CENSORED:
            raise CensoredRevision(text, self.path)
        self.check(rev, text)
        return text

    def check(self, rev: int, text: bytes | memoryview) -> None:
        """Raises: StoreError when a text isn't what the node says; where the node is the hash of
        another text, anything will do.
        """
        flags, *_, p1, p2, node = self.index.row(rev)
        if flags & HASH_DIFFERS:
            return
        if text_hash(self.node(p1), self.node(p2), text) != node:
            raise StoreError(
                f"revision {rev} isn't what its node says", self.data_path, self.start(rev)
            )

    def unchecked_text(self, rev: int) -> bytes:
        """As `text`, without looking at the node: a tombstone for a censored revision."""
        chain = self.chain(rev)
        chunks = self.stored_many(chain)
        return self.patched(rev, next(chunks), list(chunks))

    def patched(self, rev: int, text: bytes, deltas: Sequence[bytes]) -> bytes:
        """The text of `rev`, from one of its chain and the deltas that lead on from there.

        Raises: StoreError.
        """
        try:
            return apply_patches(text, deltas)
        except StoreError as error:
            raise StoreError(error.text, self.data_path, self.start(rev)) from None

    def chain(self, rev: int) -> list[int]:
        """The revisions whose chunks make the text, the full one first. Raises: StoreError."""
        chain = [rev]
        base = self.index.base(rev)
        while base != NULL_REV:
            if not 0 <= base < chain[-1]:
                raise self.fault(chain[-1], f"is a delta against {base}")
            chain.append(base)
            base = self.index.base(base)
        chain.reverse()
        return chain


def gather(starts: list[int], lengths: list[int], at: int) -> tuple[int, int]:
    """How far one read goes that begins with chunk `at`: the next chunk after it, and its end."""
    first = starts[at]
    end = first + lengths[at]
    after = at + 1
    while after < len(starts):
        start = starts[after]
        new_end = start + lengths[after]
        if not end <= start <= end + GAP_LIMIT or new_end - first > BLOCK_LIMIT:
            break
        end = new_end
        after += 1
    return after, end


def read_whole(path: str, limit: int | None = None) -> bytes:
    """A file's bytes, up to `limit`. Raises: FileNotFoundError, StoreError."""
    try:
        descriptor = os.open(path, READ)
        try:
            length = FIRST_READ if limit is None else min(limit, FIRST_READ)
            data = os.read(descriptor, length)
            return data if len(data) < length else data + read_rest(descriptor, length, limit)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise StoreError(f"can't read ({why(error)})", path) from None


def read_rest(descriptor: int, done: int, limit: int | None) -> bytes:
    """What follows the first `done` bytes, up to `limit` bytes of the file."""
    end = os.fstat(descriptor).st_size if limit is None else limit
    parts = []
    while done < end and (part := os.read(descriptor, end - done)):
        parts.append(part)
        done += len(part)
    return b"".join(parts)


def open_rows(path: str, linkrev_limit: int | None = None) -> Revlog:
    """A small revlog, by plain tuples. Raises: FileNotFoundError, StoreError."""
    data = read_whole(path)
    return Revlog(path, RowIndex(data, linkrev_limit, path), data)


class ColumnRevlog(Revlog):
    """A revlog with numpy columns: the changelog or the manifest."""

    __slots__ = ("__weakref__",)

    index: ColumnIndex

    def node(self, rev: int) -> Node:
        return NULL_NODE if rev == NULL_REV else self.index.node(rev)

    def revs(self, nodes: Sequence[bytes]) -> NDArray[np.int32]:
        """The revisions of many nodes at once: -1 for the null node, -2 for an unknown one."""
        return self.index.revs(nodes)


def parse_columns(data: bytes, path: str, linkrev_limit: int | None = None) -> ColumnIndex:
    """The columns of a whole `.i` file. Raises: StoreError."""
    header = parse_header(data, path)
    entries = join_entries(data, path) if header.is_inline else data
    index = ColumnIndex(entries[: len(entries) // ENTRY_LENGTH * ENTRY_LENGTH], header)
    index.is_cut = index.file_length() != len(data)
    if linkrev_limit is None or not (index.columns["linkrev"][-1:] >= linkrev_limit).any():
        return index
    known = np.flatnonzero(index.columns["linkrev"] < linkrev_limit)
    count = int(known[-1]) + 1 if len(known) else 0
    limited = ColumnIndex(entries[: count * ENTRY_LENGTH], header)
    limited.is_cut, limited.is_empty, limited.end = index.is_cut, index.is_empty, index.end
    return limited


def open_columns(path: str, linkrev_limit: int | None = None) -> ColumnRevlog:
    """A large revlog, by numpy columns. Raises: FileNotFoundError, StoreError."""
    data = read_whole(path)
    return ColumnRevlog(path, parse_columns(data, path, linkrev_limit), data)


def open_sparse(path: str, linkrev_limit: int | None = None) -> Revlog:
    """For who wants few of its revisions: rows, or columns where making all the rows would cost
    much more than that. Raises: FileNotFoundError, StoreError.
    """
    data = read_whole(path)
    if len(data) < SPARSE_LIMIT or parse_header(data, path).is_inline:
        return Revlog(path, RowIndex(data, linkrev_limit, path), data)
    return ColumnRevlog(path, parse_columns(data, path, linkrev_limit), data)
