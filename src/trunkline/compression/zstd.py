"""Zstandard, with the parameters of stock Mercurial: streaming frame, no content size, one thread.

Source: hg 7.2.4, utils/compression.py (_zstdengine).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import zstandard

from trunkline.compression.blocks import coalesce
from trunkline.compression.engine import Engine

IDLE_LIMIT = 4  # compressors kept for each level: 1.3 MB each at level 3, up to 90 MB at 19


class ZstdEngine(Engine):
    name = "zstd"
    wire_name = b"zstd"
    priority = 50
    levels = range(-7, zstandard.MAX_COMPRESSION_LEVEL + 1)
    default_level = 3

    def __init__(self) -> None:
        self._idle: dict[int, list[zstandard.ZstdCompressor]] = defaultdict(list)

    def compress(self, blocks: Iterable[bytes], level: int | None) -> Iterator[bytes]:
        return coalesce(self._packed(blocks, 3 if level is None else level))

    def _packed(self, blocks: Iterable[bytes], level: int) -> Iterator[bytes]:
        """A compressor serves one stream at a time, and goes back to the idle ones after it."""
        idle = self._idle[level]
        try:
            compressor = idle.pop()
        except IndexError:
            compressor = zstandard.ZstdCompressor(level=level)
        packer = compressor.compressobj()  # starts a new frame, whatever the last one came to
        try:
            for block in blocks:
                yield packer.compress(block)
            yield packer.flush()
        finally:
            if len(idle) < IDLE_LIMIT:
                idle.append(compressor)
