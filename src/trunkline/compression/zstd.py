"""Zstandard, with the parameters of stock Mercurial: streaming frame, no content size, one thread.

What is long is packed with parameters of our own where they give the same size for less CPU.
Figures: docs/notes/zstd.md.

Source: hg 7.2.4, utils/compression.py (_zstdengine).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

import zstandard

from trunkline.compression.blocks import coalesce, take
from trunkline.compression.engine import Engine

IDLE_LIMIT = 4  # compressors kept for each level: 5 MB each at level 3, up to 90 MB at 19
SHORT = 256 * 1024  # bytes that are packed as stock does, to the byte
LONG = {  # levels with parameters of our own for more than SHORT
    3: zstandard.ZstdCompressionParameters.from_level(
        3, strategy=zstandard.STRATEGY_FAST, window_log=22, hash_log=17, min_match=6
    )
}


class ZstdEngine(Engine):
    name = "zstd"
    wire_name = b"zstd"
    priority = 50
    levels = range(-7, zstandard.MAX_COMPRESSION_LEVEL + 1)
    default_level = 3

    def __init__(self) -> None:
        self._idle: dict[tuple[int, bool], list[zstandard.ZstdCompressor]] = defaultdict(list)

    def compress(self, blocks: Iterable[bytes], level: int | None) -> Iterator[bytes]:
        return coalesce(self._packed(iter(blocks), 3 if level is None else level))

    def _packed(self, blocks: Iterator[bytes], level: int) -> Iterator[bytes]:
        """A compressor serves one stream at a time, and goes back to the idle ones after it."""
        first, is_all = take(blocks, SHORT)
        is_own = not is_all and level in LONG
        idle = self._idle[level, is_own]
        try:
            compressor = idle.pop()
        except IndexError:
            compressor = make(level, is_own)
        packer = compressor.compressobj()  # starts a new frame, whatever the last one came to
        try:
            for block in chain((first,), blocks):
                yield packer.compress(block)
            yield packer.flush()
        finally:
            if len(idle) < IDLE_LIMIT:
                idle.append(compressor)


def make(level: int, is_own: bool) -> zstandard.ZstdCompressor:
    if is_own:
        return zstandard.ZstdCompressor(compression_params=LONG[level])
    return zstandard.ZstdCompressor(level=level)
