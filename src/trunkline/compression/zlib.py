"""DEFLATE in a zlib wrapper: what every Mercurial client takes.

A body that fits one block is packed by the standard zlib, to the byte as stock does. A longer one
goes through a faster implementation of the same format. Which one serves which level, and the
figures behind it: docs/notes/zlib.md. Source: hg 7.2.4, utils/compression.py (_zlibengine).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from isal import isal_zlib
from zlib_ng import zlib_ng

from trunkline.compression.blocks import MIN_BLOCK, coalesce, take
from trunkline.compression.engine import Engine

ONE_BLOCK = MIN_BLOCK  # bytes, unpacked: up to here the standard zlib packs


class Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


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
    packer: Packer = zlib.compressobj(level) if is_all else FAST[level]()
    yield packer.compress(first)
    for block in blocks:
        yield packer.compress(block)
    yield packer.flush()


def ng(level: int) -> Callable[[], Packer]:
    return lambda: zlib_ng.compressobj(level)


def isa_l(level: int) -> Callable[[], Packer]:
    return lambda: isal_zlib.compressobj(level)


FAST: dict[int, Callable[[], Packer]] = {
    -1: ng(3),
    0: lambda: zlib.compressobj(0),
    1: isa_l(1),
    2: isa_l(2),
    3: ng(2),
    4: ng(3),
    5: ng(4),
    6: ng(3),
    7: ng(6),
    8: ng(7),
    9: ng(7),
}
