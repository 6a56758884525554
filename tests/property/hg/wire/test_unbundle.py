"""A push of anything whatever: an answer in words, and the repository as it was."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.unit.hg.store.stock import Stock
from tests.unit.hg.wire.stockweb import read, served

from trunkline.hg.stock.bridge import close_shared_pool
from trunkline.hg.wire.answer import answer
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served

FORCE = b"force".hex().encode()
HEADS = st.one_of(
    st.binary(max_size=30),
    st.text("0123456789abcdef+ ", max_size=90).map(str.encode),
    st.sampled_from(
        [FORCE, b"", b"hashed+" + b"0" * 40, b"0" * 40, b"68617368656420" + b"00" * 20]
    ),
)
NAMES = st.sampled_from([b"check:heads", b"CHANGEGROUP", b"pushkey", b"PHASE-HEADS", b"replycaps"])


def part(name: bytes, payload: bytes) -> bytes:
    header = bytes([len(name)]) + name + bytes(4) + b"\0\0"
    chunk = struct.pack(">i", len(payload)) + payload if payload else b""
    return struct.pack(">i", len(header)) + header + chunk + bytes(4)


BODIES = st.one_of(
    st.binary(max_size=60),
    st.tuples(
        st.sampled_from([b"HG10UN", b"HG10BZ", b"HG20", b"HG20\0\0\0\0"]), st.binary(max_size=60)
    ).map(b"".join),
    st.lists(st.builds(part, NAMES, st.binary(max_size=60)), max_size=2).map(
        lambda parts: b"HG20" + bytes(4) + b"".join(parts) + bytes(4)
    ),
)


@pytest.fixture(autouse=True, scope="module")
def pool() -> Iterator[None]:
    yield
    close_shared_pool()


@cache
def stock() -> Stock:
    made = Stock(Path(mkdtemp()) / "r")
    made.commit()
    return made


@cache
def where() -> Served:
    return served(stock())


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], database=None)
@given(HEADS, BODIES)
@example(FORCE, b"HG20" + bytes(4) + part(b"CHANGEGROUP", b"\0\0\0\x05") + bytes(4))
@example(FORCE, b"HG20" + struct.pack(">i", 2**31 - 1))
@example(FORCE, b"HG10UN\0\0\0\x05x")
def test_only_the_peers_fault_is_told(heads: bytes, body: bytes) -> None:
    before = log()
    query = b"cmd=unbundle&heads=" + quote_from_bytes(heads).encode()
    request = Request("POST", query, may_push=True, payload=iter([body[:7], body[7:]]))
    reply = read(answer(where(), request))
    assert reply.status in (200, 403)
    assert reply.body
    assert b"Traceback" not in reply.body
    assert log() == before


def log() -> bytes:
    path = Path(where().root) / ".hg/store"
    assert not (path / "journal").exists()
    return (path / "00changelog.i").read_bytes()
