"""All built-in engines: the client's own decompressor gets the bytes back."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator

import pytest
from mercurial import util

from trunkline.compression.blocks import MIN_BLOCK
from trunkline.compression.table import installed
from trunkline.compression.zlib import ONE_BLOCK

NAMES = ["bz2", "none", "zlib", "zstd"]
SMALL = b"".join(b"line %d of a small reply\n" % number for number in range(500))


def large(seed: int = 1) -> bytes:
    chance = random.Random(seed)
    words = [chance.randbytes(chance.randrange(2, 12)) for _ in range(3000)]
    return b" ".join(chance.choices(words, k=200_000))


LARGE = large()


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def unpack(name: str, packed: bytes) -> bytes:
    engine = util.compengines.forwiretype(installed()[name].wire_name)
    reader = engine.decompressorreader(io.BytesIO(packed))
    data = b""
    while more := reader.read(1 << 16):
        data += more
    return data


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [b"", b"a", SMALL, LARGE], ids=["empty", "byte", "small", "large"])
@pytest.mark.parametrize("size", [999, 1 << 18])
def test_client_reads_what_engine_packs(name: str, data: bytes, size: int) -> None:
    blocks = list(installed()[name].compress(cut(data, size), None))
    assert unpack(name, b"".join(blocks)) == data
    assert all(len(block) >= MIN_BLOCK for block in blocks[:-1])
    assert all(blocks)


@pytest.mark.parametrize("name", ["bz2", "zlib", "zstd"])
def test_every_level_reads_back(name: str) -> None:
    engine = installed()[name]
    for level in [level for level in engine.levels if level < 16]:
        packed = b"".join(engine.compress(cut(LARGE[:300_000], 1 << 17), level))
        assert unpack(name, packed) == LARGE[:300_000], level


@pytest.mark.parametrize("name", ["bz2", "none", "zlib"])  # libzstd's output varies by release
@pytest.mark.parametrize("level", [None, 1, 9])
@pytest.mark.parametrize("size", [1, 700, ONE_BLOCK])
def test_one_block_is_packed_as_stock_packs_it(name: str, level: int | None, size: int) -> None:
    data = LARGE[:size]
    engine = util.compengines[name.encode()]
    options = {} if level is None else {b"level": level}
    expected = b"".join(engine.compressstream(iter([data]), options))
    assert b"".join(installed()[name].compress([data], level)) == expected


def test_zstd_frame_has_the_header_of_stock() -> None:
    engine = util.compengines[b"zstd"]
    expected = b"".join(engine.compressstream(iter([SMALL]), {}))
    packed = b"".join(installed()["zstd"].compress([SMALL], None))
    assert packed[:6] == expected[:6]


def test_zlib_of_a_long_body_is_close_to_level_six_of_stock() -> None:
    stock = util.compengines[b"zlib"].compressstream(cut(LARGE, 1 << 15), {})
    packed = b"".join(installed()["zlib"].compress(cut(LARGE, 1 << 18), None))
    assert len(packed) <= 1.08 * len(b"".join(stock))


def test_zstd_of_a_long_body_finds_what_was_four_megabytes_ago() -> None:
    far = large(2) + random.Random(3).randbytes(2_300_000)  # beyond the 2 MiB of stock
    packed = b"".join(installed()["zstd"].compress(cut(far + far[:1_000_000], 1 << 18), None))
    alone = b"".join(installed()["zstd"].compress(cut(far, 1 << 18), None))
    assert len(packed) - len(alone) < 50_000
    assert unpack("zstd", packed) == far + far[:1_000_000]


def test_zstd_streams_that_run_side_by_side_do_not_mix() -> None:
    engine = installed()["zstd"]
    one = engine.compress(cut(LARGE, 1 << 17), 3)
    two = engine.compress(cut(LARGE[::-1], 1 << 17), 3)
    packed_one, packed_two = [next(one)], [next(two)]
    packed_one += one
    packed_two += two
    assert unpack("zstd", b"".join(packed_one)) == LARGE
    assert unpack("zstd", b"".join(packed_two)) == LARGE[::-1]


def test_zstd_compressor_is_clean_after_an_abandoned_stream() -> None:
    engine = installed()["zstd"]
    abandoned = engine.compress(cut(LARGE, 1 << 17), 5)
    next(abandoned)
    del abandoned
    assert unpack("zstd", b"".join(engine.compress([SMALL], 5))) == SMALL
