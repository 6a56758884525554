"""bzip2: slow, and here for those who ask. Source: hg 7.2.4, utils/compression.py (_bz2engine)."""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Iterator

from trunkline.compression.blocks import coalesce
from trunkline.compression.engine import Engine


class Bz2Engine(Engine):
    name = "bz2"
    wire_name = b"bzip2"
    levels = range(1, 10)
    default_level = 9

    def compress(self, blocks: Iterable[bytes], level: int | None) -> Iterator[bytes]:
        return coalesce(packed(blocks, self.default_level if level is None else level))


def packed(blocks: Iterable[bytes], level: int) -> Iterator[bytes]:
    packer = bz2.BZ2Compressor(level)
    for block in blocks:
        yield packer.compress(block)
    yield packer.flush()
