"""A repository that goes through the installed Mercurial answers as one that we read."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from mercurial import bundle2, changegroup, discovery
from tests.unit.hg.store.stock import Stock, random_repository
from tests.unit.hg.wire.bridging import bridged as open_bridged
from tests.unit.hg.wire.stockweb import PROTO, Reply, ask, read, served, stock_reply
from tests.unit.hg.wire.test_answer import FAULTS

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.stock.bridge import Bridge, close_shared_pool
from trunkline.hg.wire.answer import answer
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.reply import Bytes
from trunkline.work import Work

HEADERS = {b"x-hgproto-1": PROTO}
NONE = {b"x-hgproto-1": b"0.2 comp=none"}
BRIDGED = {("trunkline", "native"): "no"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return random_repository(tmp_path_factory.mktemp("bridged") / "r", 7)


@pytest.fixture(scope="module")
def bridged(history: Stock) -> Iterator[Served]:
    overrides = [f"{name}={value}" for name, value in history.config.items()]
    config = HgConfig(BRIDGED, BRIDGED)
    yield Served.open(str(history.path), config, Bridge(str(history.path), overrides))
    close_shared_pool()


def test_it_is_bridged(bridged: Served) -> None:
    assert bridged.reason is not None
    assert bridged.snapshot() is None


@pytest.mark.parametrize(
    "asked",
    [
        b"cmd=heads",
        b"cmd=lookup&key=tip",
        b"cmd=lookup&key=nowhere",
        b"cmd=listkeys&namespace=bookmarks",
        b"cmd=batch&cmds=heads+;lookup+key%3Dbook",
        b"cmd=debugwireargs&one=1&two=2&four=4",
        b"cmd=protocaps&caps=x",
    ],
)
def test_texts_are_stocks(history: Stock, bridged: Served, asked: bytes) -> None:
    assert ask(bridged, asked, HEADERS) == stock_reply(history, asked, HEADERS)


def test_known_is_stocks(history: Stock, bridged: Served) -> None:
    nodes = [history.repo[rev].hex().decode() for rev in range(len(history.repo))]
    asked = b"cmd=known&nodes=" + "+".join(nodes).encode()
    assert ask(bridged, asked) == stock_reply(history, asked)


@pytest.mark.parametrize("proto", [b"0.1", b"0.2 comp=zlib", b"0.2 comp=none,zstd"])
def test_bundle_is_packed_by_us(history: Stock, bridged: Served, proto: bytes) -> None:
    headers = {b"x-hgproto-1": proto}
    reply, expected = (
        ask(bridged, b"cmd=getbundle", headers),
        stock_reply(history, b"cmd=getbundle", headers),
    )
    assert (reply.media_type, reply.body[:6]) == (expected.media_type, expected.body[:6])
    if b"zlib" in proto or proto == b"0.1":
        assert len(reply.body) == len(expected.body)


def test_capabilities_are_stocks_with_our_transport(history: Stock, bridged: Served) -> None:
    found = ask(bridged, b"cmd=capabilities").body.split(b" ")
    native = ask(served(history), b"cmd=capabilities").body.split(b" ")
    assert found == native


def test_fault_of_the_peer_is_one_line(bridged: Served) -> None:
    reply = ask(bridged, b"cmd=lookup")
    assert reply == Reply(200, "application/hg-error", b"lookup: argument 'key' is missing\n")


@pytest.mark.parametrize("asked", FAULTS, ids=lambda asked: asked[4:40].decode())
def test_faults_are_told_as_natively(bridged: Served, asked: bytes) -> None:
    assert ask(bridged, asked, HEADERS) == Reply(200, "application/hg-error", FAULTS[asked])


HG20 = "HG20,bundle2=" + quote("HG20\nchangegroup=01,02\nphases=heads")
FAULTS_IN_BUNDLES = [
    {"bundlecaps": "HG20", "phases": "1"},
    {"bundlecaps": "HG20,bundle2=HG20", "cg": "0", "phases": "1"},
    {"bundlecaps": "HG20", "bookmarks": "1"},
    {"bundlecaps": "HG20,bundle2=" + quote("HG20\nchangegroup=99"), "cg": "1"},
    {"bundlecaps": "HG20", "stream": "1"},
    {"bundlecaps": HG20, "heads": "1" * 40, "phases": "1"},
    {"bundlecaps": HG20 + quote("\nstream=v9"), "stream": "1"},
]


@pytest.mark.parametrize("arguments", FAULTS_IN_BUNDLES, ids=str)
def test_fault_that_only_shows_in_the_making_is_told_too(
    plain: Stock, arguments: dict[str, str]
) -> None:
    """As words of a reply or as a part of a bundle2: a client shows either."""
    asked = urlencode({"cmd": "getbundle", **arguments}).encode()
    headers = {b"x-hgproto-1": b"0.2 comp=none"}
    native = ask(served(plain), asked, headers)
    (words,) = re.findall(rb"message([ -~]+?)(?:hint|\0)", native.body)
    reply = ask(open_bridged(plain), asked)
    assert reply.status == 200
    is_packed = reply.media_type == "application/mercurial-0.1"
    assert words[:40] in (zlib.decompress(reply.body) if is_packed else reply.body)


def test_command_that_nobody_has_is_400(bridged: Served) -> None:
    assert ask(bridged, b"cmd=nosuch").status == 400


def test_push_goes_through_the_bridge(tmp_path: Path) -> None:
    """A native repository's too: writing is the installed Mercurial's in any case."""
    stock = Stock(tmp_path / "target")
    stock.commit()
    source = Stock(tmp_path / "source")
    source.commit()
    source.commit(0)
    target = Served.open(str(stock.path), HgConfig(), Bridge(str(stock.path)))
    try:
        request = Request(
            "POST",
            b"cmd=unbundle&heads=" + b"force".hex().encode(),
            HEADERS,
            may_push=True,
            payload=pushed(source),
        )
        reply = read(answer(target, request))
        assert (reply.status, reply.media_type) == (200, "application/mercurial-0.1")
        assert reply.body.startswith(b"HG20")
        reader = bundle2.getunbundler(stock.ui, io.BytesIO(reply.body))
        kinds = {part.type.lower() for part in reader.iterparts()}
        assert not {kind for kind in kinds if kind.startswith(b"error")}
        tip = source.repo[1].hex()
        assert ask(target, b"cmd=lookup&key=" + tip).body == b"1 " + tip + b"\n"
        key = b"cmd=pushkey&namespace=bookmarks&key=new&old=&new=" + tip
        assert read(answer(target, Request("POST", key, may_push=True))).body == b"1\n"
        assert b"new\t" + tip in ask(target, b"cmd=listkeys&namespace=bookmarks").body
    finally:
        close_shared_pool()


def pushed(source: Stock) -> Iterator[bytes]:
    """A bundle2 with everything that `source` has."""
    bundler = bundle2.bundle20(source.ui, {b"HG20": ()})
    bundler.newpart(b"replycaps", data=b"HG20\nerror=abort")
    outgoing = discovery.outgoing(source.repo, [], source.repo.heads())
    stream = changegroup.makestream(source.repo, outgoing, b"02", b"push")
    part = bundler.newpart(b"CHANGEGROUP", data=stream)
    part.addparam(b"version", b"02")
    yield from bundler.getchunks()


def test_markers_that_a_client_can_not_read_are_told(tmp_path: Path) -> None:
    stock = Stock(tmp_path / "r")
    stock.rewrite([stock.commit()], [stock.commit()])
    asked = {"cmd": "getbundle", "bundlecaps": "HG20,bundle2=HG20", "cg": "0", "obsmarkers": "1"}
    words = b"bundler does not support common obsmarker format"
    assert words in ask(served(stock), urlencode(asked).encode(), NONE).body
    assert words in zlib.decompress(ask(open_bridged(stock), urlencode(asked).encode()).body)


@pytest.mark.parametrize(
    ("command", "word"), [("branches", "0" * 40), ("between", "0" * 40 + "-" + "0" * 40)]
)
def test_walks_of_old_commands_are_counted(bridged: Served, command: str, word: str) -> None:
    argument = {"branches": "nodes", "between": "pairs"}[command]

    def asked(count: int) -> bytes:
        query = f"cmd={command}&{argument}=" + "+".join([word] * count)
        body = answer(bridged, Request("GET", query.encode(), work=Work(20_000))).body
        assert isinstance(body, Bytes)
        return body.data

    assert b"this would walk more than 20000 revisions" not in asked(2)
    assert b"this would walk more than 20000 revisions" in asked(3)
