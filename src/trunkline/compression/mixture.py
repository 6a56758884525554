"""A long zlib stream at a fraction of zlib's CPU, and nearly its size.

Two implementations of DEFLATE take turns within one stream: ISA-L is very fast and, on some data,
too large by much; zlib-ng comes to the size of zlib's level 6 at a good third of its CPU. How much
larger ISA-L is depends on the data, so now and then a segment is packed by both and compared; the
excess so found is spent as far as EXCESS allows. Figures: docs/notes/zlib.md.

Wire:   RFC 1950 around RFC 1951. Where the turn changes, the blocks so far are flushed to a whole
        byte, and the next packer is given the last 32 KiB as its dictionary: it goes on with the
        window that the reader has.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

from isal import isal_zlib
from zlib_ng import zlib_ng

EXCESS = 0.045  # of the size that zlib-ng alone would come to
SEGMENT = 512 * 1024  # bytes, unpacked: a packer's turn takes at least this
COMPARE_EVERY = 8  # segments
WINDOW = 32 * 1024  # bytes: how far back a match may reach
RAW = -zlib.MAX_WBITS
HEADER = b"\x78\x9c"  # as zlib writes it for its default level
NG_LEVEL = 5
ISA_L_LEVEL, ISA_L_MEMORY = 2, 3  # smaller blocks than its default: better codes, at no cost


class Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self, mode: int = ..., /) -> bytes: ...


def start_small(window: bytes) -> Packer:
    packer: Packer = zlib_ng.compressobj(NG_LEVEL, wbits=RAW, zdict=window)
    return packer


def start_fast(window: bytes) -> Packer:
    packer: Packer = isal_zlib.compressobj(
        ISA_L_LEVEL, wbits=RAW, memLevel=ISA_L_MEMORY, zdict=window
    )
    return packer


class Mixture:
    """One stream being packed. Holds: the two packers' own state, and a window."""

    def __init__(self) -> None:
        self._checksum = zlib_ng.adler32(b"")
        self._window = b""
        self._packer = start_small(b"")
        self._is_fast = False
        self._trial: Packer | None = start_fast(b"")
        self._trial_size = 0
        self._taken = self._given = 0  # bytes into and out of this segment
        self._segments = 0
        self._credit = 0.0  # bytes by which we may still be larger than zlib-ng alone
        self._ratio: float | None = None  # zlib-ng's output to its input
        self._excess = 0.0  # of ISA-L's output over zlib-ng's, as a share of the latter

    def pack(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        yield HEADER
        for block in blocks:
            yield self._take(block)
            if self._taken >= SEGMENT:
                yield self._turn()
        yield self._packer.flush(zlib.Z_FINISH)
        yield self._checksum.to_bytes(4, "big")

    def _take(self, block: bytes) -> bytes:
        self._checksum = zlib_ng.adler32(block, self._checksum)
        packed = self._packer.compress(block)
        if self._trial is not None:
            self._trial_size += len(self._trial.compress(block))
        self._taken += len(block)
        self._given += len(packed)
        self._window = (block if len(block) >= WINDOW else self._window + block)[-WINDOW:]
        return packed

    def _turn(self) -> bytes:
        """The end of a segment: whose turn is it now?"""
        end = b""
        if self._trial is not None:
            end = self._packer.flush(zlib.Z_SYNC_FLUSH)
            self._compare(self._given + len(end))
        self._account()
        self._segments += 1
        is_trial = self._segments % COMPARE_EVERY == 0
        is_fast = not is_trial and self._is_affordable()
        if is_fast != self._is_fast:
            end = end or self._packer.flush(zlib.Z_SYNC_FLUSH)
            self._packer = (start_fast if is_fast else start_small)(self._window)
            self._is_fast = is_fast
        self._trial = start_fast(self._window) if is_trial else None
        self._trial_size = self._taken = self._given = 0
        return end

    def _compare(self, small: int) -> None:
        assert self._trial is not None
        fast = self._trial_size + len(self._trial.flush(zlib.Z_SYNC_FLUSH))
        excess, ratio = fast / small - 1, small / self._taken
        if self._ratio is not None:  # the data changes on the way: half of it is the news
            excess, ratio = (excess + self._excess) / 2, (ratio + self._ratio) / 2
        self._excess, self._ratio = excess, ratio

    def _account(self) -> None:
        assert self._ratio is not None
        spent = self._excess if self._is_fast else 0.0
        self._credit += (EXCESS - spent) * self._ratio * self._taken

    def _is_affordable(self) -> bool:
        assert self._ratio is not None
        return self._credit >= (self._excess - EXCESS) * self._ratio * SEGMENT
