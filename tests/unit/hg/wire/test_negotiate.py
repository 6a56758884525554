from __future__ import annotations

import random
import zlib
from collections.abc import Generator, Iterator

import pytest
import zstandard

from trunkline.compression.table import installed
from trunkline.config.hgconfig import HgConfig
from trunkline.errors import StoreError
from trunkline.hg.wire.negotiate import (
    MEDIA_TYPE_0_1,
    MEDIA_TYPE_0_2,
    TEXT_PACK_LIMIT,
    Packing,
    configured_engines,
    negotiate,
    pack_text,
)
from trunkline.hg.wire.proto import parse_protocol

TEXT = b"".join(b"%040d\n" % number for number in range(500))


def server(**values: str) -> HgConfig:
    return HgConfig({("server", name): value for name, value in values.items()})


def packing(proto: bytes, engines: str = "", prefer_uncompressed: bool = False) -> Packing:
    config = server(compressionengines=engines) if engines else HgConfig()
    return negotiate(configured_engines(config), parse_protocol(proto), prefer_uncompressed)


@pytest.mark.parametrize(
    ("proto", "engines", "media_type", "engine"),
    [
        (b"", "", MEDIA_TYPE_0_1, "zlib"),
        (b"0.1", "", MEDIA_TYPE_0_1, "zlib"),
        (b"0.1", "none,zlib", MEDIA_TYPE_0_1, "zlib"),
        (b"0.1", "none", MEDIA_TYPE_0_1, "zlib"),
        (b"0.2", "", MEDIA_TYPE_0_2, "zlib"),
        (b"0.2", "none,zlib", MEDIA_TYPE_0_2, "none"),
        (b"0.1 0.2 comp=zstd,zlib,none,bzip2", "", MEDIA_TYPE_0_2, "zstd"),
        (b"0.2 comp=zlib,none", "none,zlib", MEDIA_TYPE_0_2, "none"),
        (b"0.2 comp=zlib", "none,zlib", MEDIA_TYPE_0_2, "zlib"),
        (b"0.2 comp=bzip2", "bz2", MEDIA_TYPE_0_2, "bz2"),
        (b"0.2 comp=aa", "", MEDIA_TYPE_0_1, "zlib"),
        (b"0.2 comp=", "", MEDIA_TYPE_0_1, "zlib"),
    ],
)
def test_first_common_engine_in_the_order_of_the_server(
    proto: bytes, engines: str, media_type: bytes, engine: str
) -> None:
    found = packing(proto, engines)
    assert (found.media_type, found.engine.name) == (media_type, engine)


@pytest.mark.parametrize(
    ("proto", "engine"), [(b"0.2 comp=zstd,zlib", "none"), (b"0.2", "none"), (b"0.1", "zlib")]
)
def test_stream_better_left_alone_is_packed_for_0_1_only(proto: bytes, engine: str) -> None:
    assert packing(proto, prefer_uncompressed=True).engine.name == engine


def test_levels_come_from_configuration() -> None:
    engines = configured_engines(server(zliblevel="1", zstdlevel="7"))
    assert negotiate(engines, parse_protocol(b"0.1"), False).chosen.level == 1
    assert negotiate(engines, parse_protocol(b"0.2 comp=zstd"), False).chosen.level == 7


def test_0_2_payload_starts_with_the_name_of_the_engine() -> None:
    body = b"".join(packing(b"0.2 comp=zstd").pack(iter([b"abc"])))
    assert body[:5] == b"\x04zstd"
    assert zstandard.ZstdDecompressor().decompressobj().decompress(body[5:]) == b"abc"
    assert b"".join(packing(b"0.2 comp=none", "none").pack(iter([b"a", b"bc"]))) == b"\x04noneabc"
    assert b"".join(packing(b"0.2 comp=none", "none").pack(iter([]))) == b"\x04none"


@pytest.mark.parametrize("engine", ["none", "zlib", "zstd", "bz2"])
def test_source_is_closed_when_the_client_goes_away(engine: str) -> None:
    closed = []

    def source() -> Iterator[bytes]:
        try:
            while True:
                yield random.Random(1).randbytes(200_000)
        finally:
            closed.append(True)

    proto = b"0.2 comp=" + installed()[engine].wire_name
    blocks = source()
    body = packing(proto, engine).pack(blocks)
    assert len(next(body)) > 60_000
    assert isinstance(body, Generator)
    body.close()
    assert closed
    with pytest.raises(StopIteration):
        next(blocks)


def test_fault_of_the_source_comes_through() -> None:
    def source() -> Iterator[bytes]:
        yield bytes(10)
        raise StoreError("damaged")

    with pytest.raises(StoreError, match="damaged"):
        list(packing(b"0.2 comp=zstd").pack(source()))


def test_0_1_payload_has_no_header() -> None:
    assert zlib.decompress(b"".join(packing(b"0.1").pack(iter([b"abc"])))) == b"abc"


def test_long_text_is_packed_for_who_announced_engines() -> None:
    engines = configured_engines(HgConfig())
    found = pack_text(engines, parse_protocol(b"0.2 comp=zlib"), TEXT)
    assert found is not None
    assert found[0].media_type == MEDIA_TYPE_0_2
    assert found[1][:5] == b"\x04zlib"
    assert zlib.decompress(found[1][5:]) == TEXT


@pytest.mark.parametrize(
    ("proto", "engines", "text"),
    [
        (b"0.2 comp=zlib", "zlib", TEXT[:TEXT_PACK_LIMIT]),
        (b"0.2", "zlib", TEXT),
        (b"0.1 comp=zlib", "zlib", TEXT),
        (b"0.2 comp=aa", "zlib", TEXT),
        (b"0.2 comp=none,zlib", "none,zlib", TEXT),
        (b"0.2 comp=zlib", "zlib", random.Random(1).randbytes(20_000)),
    ],
    ids=["short", "no comp=", "0.1", "no common engine", "none first", "dense"],
)
def test_other_texts_stay_0_1(proto: bytes, engines: str, text: bytes) -> None:
    config = server(compressionengines=engines)
    assert pack_text(configured_engines(config), parse_protocol(proto), text) is None
