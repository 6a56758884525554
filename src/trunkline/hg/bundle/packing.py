"""Revisions into large blocks of a changegroup.

The hot loop of a clone: what it does per revision is all that a clone costs beside decompression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from trunkline.hg.bundle.version import LENGTH, Version
from trunkline.hg.store.delta import HUNK

BLOCK: Final = 256 * 1024  # bytes that are gathered before a block goes out


class Packer:
    """Gathers pieces; its generators give a block out whenever BLOCK bytes are there.

    Holds: BLOCK bytes and the last revision's delta.
    """

    __slots__ = ("_full", "_hunk", "_pieces", "_plain", "_size")

    def __init__(self, version: Version) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._plain = LENGTH.size + version.size
        self._full = self._plain + HUNK.size

    def add(self, piece: bytes) -> None:
        """Something small that stands between revisions."""
        self._pieces.append(piece)
        self._size += len(piece)

    def take(self) -> bytes:
        """What is gathered so far."""
        block = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        return block

    def revisions(
        self, heads: Iterable[bytes], bases: Iterable[int], deltas: Iterable[bytes]
    ) -> Iterator[bytes]:
        """One revision for each head, base and delta; base -1: the delta is a full text.

        A full text is wrapped as one hunk; an empty one is no hunk at all.
        """
        pieces, size = self._pieces, self._size
        plain, full = self._plain, self._full
        append, pack_length, pack_hunk = pieces.append, LENGTH.pack, HUNK.pack
        for head, base, delta in zip(heads, bases, deltas, strict=True):
            length = len(delta)
            if base >= 0 or not length:
                append(pack_length(length + plain))
                append(head)
            else:
                append(pack_length(length + full))
                append(head)
                append(pack_hunk(0, 0, length))
            append(delta)
            size += length + full
            if size >= BLOCK:
                yield from self._give(delta if length >= BLOCK else b"")
                size = 0
        self._size = size

    def _give(self, last: bytes) -> Iterator[bytes]:
        """All pieces; a `last` one that is large by itself is cut, not copied as a whole."""
        if last:
            self._pieces.pop()
        yield self.take()
        for start in range(0, len(last), BLOCK):
            yield last[start : start + BLOCK]
