"""How many bytes of a revlog belong to a snapshot, and an inline revlog put together again.

A transaction only appends, and what it appends belongs to changesets that the snapshot doesn't
have: so the revisions up to the last one with a known link revision are the snapshot's.

Source: hg 7.2.4, mercurial/helptext/internals/revlogs.txt; revlog.py (split_inline).
"""

from __future__ import annotations

import os
from struct import Struct
from typing import Final, NamedTuple

from trunkline.errors import StoreError
from trunkline.hg.store.index import ENTRY_LENGTH, FLAG_INLINE

PLACE: Final = Struct(">Qi8xi")  # offset << 16 | flags, stored length, link revision
BATCH: Final = 256  # entries of one read


class Cut(NamedTuple):
    """Lengths in revisions and bytes. `data_size` is None when the revlog is inline."""

    revisions: int
    index_size: int
    data_size: int | None


NOTHING: Final = Cut(0, 0, 0)


def is_inline(start: bytes) -> bool:
    """`start`: the first bytes of an index file. A file that is too short for a header is not."""
    return len(start) > 1 and bool(start[1] & FLAG_INLINE >> 16)


def cut_revlog(descriptor: int, changesets: int, path: str) -> Cut:
    """What belongs to the first `changesets` changesets, of the index file as it is now.

    Only revisions at the end are dropped, as Mercurial does: a link revision in the middle may
    be larger than a later one. Raises: StoreError.
    """
    start = os.pread(descriptor, 4, 0)
    if len(start) < 4:
        return NOTHING
    return (_cut_inline if is_inline(start) else _cut_split)(descriptor, changesets, path)


def _cut_split(descriptor: int, changesets: int, path: str) -> Cut:
    revisions = os.fstat(descriptor).st_size // ENTRY_LENGTH
    while revisions:
        first = max(0, revisions - BATCH)
        entries = os.pread(descriptor, (revisions - first) * ENTRY_LENGTH, first * ENTRY_LENGTH)
        revisions = first + len(entries) // ENTRY_LENGTH
        while revisions > first:
            at = (revisions - 1 - first) * ENTRY_LENGTH
            offset, length, linkrev = PLACE.unpack_from(entries, at)
            refuse_negative(length, path, (revisions - 1) * ENTRY_LENGTH)
            if linkrev < changesets:
                # The header stands where the offset of revision 0 would: it is 0.
                end = length + (offset >> 16 if revisions > 1 else 0)
                return Cut(revisions, revisions * ENTRY_LENGTH, end)
            revisions -= 1
    return NOTHING


def _cut_inline(descriptor: int, changesets: int, path: str) -> Cut:
    size = os.fstat(descriptor).st_size
    kept = Cut(0, 0, None)
    revisions = at = 0
    while len(entry := os.pread(descriptor, ENTRY_LENGTH, at)) == ENTRY_LENGTH:
        _offset, length, linkrev = PLACE.unpack_from(entry)
        refuse_negative(length, path, at)
        at += ENTRY_LENGTH + length
        if at > size:
            break
        revisions += 1
        if linkrev < changesets:
            kept = Cut(revisions, at, None)
    return kept


def refuse_negative(length: int, path: str, at: int) -> None:
    """Raises: StoreError."""
    if length < 0:
        raise StoreError("a stored length below zero", path, at)


def data_end(descriptor: int, size: int) -> int:
    """How many bytes of data an index file of `size` bytes refers to; 0 for an inline one."""
    revisions = size // ENTRY_LENGTH
    if not revisions or is_inline(os.pread(descriptor, 4, 0)):
        return 0
    entry = os.pread(descriptor, ENTRY_LENGTH, (revisions - 1) * ENTRY_LENGTH)
    if len(entry) < ENTRY_LENGTH:
        return 0  # it became shorter: who reads it is told
    offset, length, _linkrev = PLACE.unpack_from(entry)
    return int(length) + (offset >> 16 if revisions > 1 else 0)


def join_inline(index: bytes, data: bytes, size: int, path: str) -> bytes:
    """The `size` bytes that the revlog had when it was inline, of the files it was split into.

    `index` and `data` may be longer. Raises: StoreError when they don't come to `size`.
    """
    pieces: list[bytes] = []
    total = start = 0
    for at in range(0, len(index) - ENTRY_LENGTH + 1, ENTRY_LENGTH):
        if total >= size:
            break
        _offset, length, _linkrev = PLACE.unpack_from(index, at)
        pieces += (index[at : at + ENTRY_LENGTH], data[start : start + length])
        start += length
        total += ENTRY_LENGTH + length
    if total != size or start > len(data):
        raise StoreError(f"was split, and its first {size} bytes can't be told any more", path)
    header = int.from_bytes(index[:4], "big") | FLAG_INLINE
    return header.to_bytes(4, "big") + b"".join(pieces)[4:]
