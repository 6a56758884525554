from __future__ import annotations

import gzip
import zlib

import pytest

from trunkline.reply import Bytes, Stream
from trunkline.svn.dav.names import XML_TYPE
from trunkline.svn.dav.packing import packed, takes_gzip
from trunkline.svn.dav.request import Answer, Request

XML = [(b"content-type", XML_TYPE)]


def request(accept: bytes) -> Request:
    return Request("REPORT", b"", b"/", headers={b"accept-encoding": accept})


@pytest.mark.parametrize(
    ("accept", "takes"),
    [
        (b"gzip", True),
        (b"gzip,svndiff1;q=0.9", True),
        (b"br, GZIP;q=0.5", True),
        (b"", False),
        (b"gzip;q=0", False),
        (b"svndiff", False),
    ],
)
def test_what_a_client_takes(accept: bytes, takes: bool) -> None:
    assert takes_gzip(request(accept)) is takes


def test_each_block_can_be_read_at_once() -> None:
    got = packed(request(b"gzip"), Answer(200, XML, Stream(iter([b"first", b"second"]))))
    assert isinstance(got.body, Stream)
    reader = zlib.decompressobj(31)
    blocks = iter(got.body.blocks)
    assert [reader.decompress(next(blocks)), reader.decompress(next(blocks))] == [
        b"first",
        b"second",
    ]
    assert (b"content-encoding", b"gzip") in got.headers


def test_long_texts_are_packed_and_short_or_other_ones_not() -> None:
    long = Answer(200, XML, Bytes(b"x" * 10_000))
    got = packed(request(b"gzip"), long)
    assert isinstance(got.body, Bytes)
    assert gzip.decompress(got.body.data) == b"x" * 10_000
    for other in (Answer(200, XML, Bytes(b"x")), Answer(200, [], Bytes(b"x" * 10_000))):
        assert packed(request(b"gzip"), other) is other
    assert packed(request(b""), long) is long
