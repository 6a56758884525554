"""DEFLATE in a zlib wrapper: what every Mercurial client takes.

A body that fits one block is packed by the standard zlib, to the byte as stock does. A longer one
goes through faster implementations of the same format; which one serves which level, and the
figures behind it: docs/notes/zlib.md. Source: hg 7.2.4, utils/compression.py (_zlibengine).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from isal import isal_zlib
from zlib_ng import zlib_ng

from trunkline.compression.blocks import MIN_BLOCK, coalesce, take
from trunkline.compression.engine import Engine
from trunkline.compression.mixture import ISA_L_MEMORY, Mixture, Packer

ONE_BLOCK = MIN_BLOCK  # bytes, unpacked: up to here the standard zlib packs

ISA_L_LEVELS = {1: 1, 2: 2, 3: 3}
NG_LEVELS = {7: 6, 8: 7, 9: 8}


class ZlibEngine(Engine):
    name = "zlib"
    wire_name = b"zlib"
    priority = 20
    levels = range(-1, 10)
    default_level = -1

    def compress(self, blocks: Iterable[bytes], level: int | None) -> Iterator[bytes]:
        return coalesce(packed(iter(blocks), -1 if level is None else level))


def packed(blocks: Iterator[bytes], level: int) -> Iterator[bytes]:
    first, is_all = take(blocks, ONE_BLOCK)
    if is_all:
        return pack_with(zlib.compressobj(level), iter((first,)))
    packer = long_packer(level)
    rest = chain((first,), blocks)
    return Mixture().pack(rest) if packer is None else pack_with(packer, rest)


def long_packer(level: int) -> Packer | None:
    """None: the mixture, for what stands around the default level."""
    packer: Packer | None = None
    if level == 0:
        packer = zlib.compressobj(0)
    elif level in ISA_L_LEVELS:
        packer = isal_zlib.compressobj(ISA_L_LEVELS[level], memLevel=ISA_L_MEMORY)
    elif level in NG_LEVELS:
        packer = zlib_ng.compressobj(NG_LEVELS[level])
    return packer


def pack_with(packer: Packer, blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in blocks:
        yield packer.compress(block)
    yield packer.flush()
