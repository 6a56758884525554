from __future__ import annotations

import pytest

from trunkline.errors import PeerError
from trunkline.hg.wire.proto import PROTO_LIMIT, client_protocol


def test_stock_client_is_understood() -> None:
    value = b"0.1 0.2 comp=zstd,zlib,none,bzip2 partial-pull"
    client = client_protocol({b"x-hgproto-1": value})
    assert client.takes_0_2
    assert client.takes_partial_pull
    assert client.engines == (b"zstd", b"zlib", b"none", b"bzip2")


def test_value_may_be_cut_anywhere() -> None:
    client = client_protocol({b"x-hgproto-1": b"0.1 0.2 comp=zs", b"x-hgproto-2": b"td"})
    assert client.announced_engines == (b"zstd",)


def test_client_that_says_nothing_takes_0_1_only() -> None:
    client = client_protocol({})
    assert not client.takes_0_2
    assert not client.takes_partial_pull


def test_0_2_without_engines_implies_zlib_and_none() -> None:
    client = client_protocol({b"x-hgproto-1": b"0.2"})
    assert client.engines == (b"zlib", b"none")
    assert client.announced_engines is None


def test_header_past_limit_is_refused() -> None:
    client_protocol({b"x-hgproto-1": b"0" * PROTO_LIMIT})
    with pytest.raises(PeerError) as caught:
        client_protocol({b"x-hgproto-1": b"0" * PROTO_LIMIT, b"x-hgproto-2": b"1"})
    assert caught.value.status == 431
