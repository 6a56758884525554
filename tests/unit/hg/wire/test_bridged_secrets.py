"""What the served view leaves out is, through the bridge too, as if it weren't there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from tests.unit.hg.store.stock import Stock
from tests.unit.hg.wire.bridging import bridged
from tests.unit.hg.wire.stockweb import ask, served

from trunkline.hg.stock.bridge import close_shared_pool
from trunkline.hg.wire.served import Served

CONFIG = {"experimental.evolution": "all", "phases.publish": "no"}
ZERO = "0" * 40
STREAMS = [
    b"cmd=stream_out",
    *(
        b"cmd=getbundle&cg=0&stream=1&bundlecaps="
        + quote("HG20,bundle2=" + quote(f"HG20\nobsmarkers=V0,V1\nstream={version}")).encode()
        for version in ("v2", "v3-exp")
    ),
]


@pytest.fixture(autouse=True, scope="module")
def pool() -> Iterator[None]:
    yield
    close_shared_pool()


def repository(path: Path, kind: str) -> Stock:
    """Revision 0 is public, 1 a draft, and 2 is of the kind."""
    stock = Stock(path, CONFIG)
    stock.commit()
    stock.publish(0)
    stock.commit(0)
    gone = stock.commit(1)
    if kind == "secret":
        stock.retract(2, gone)
    else:
        stock.rewrite([gone], [])
    return stock


@pytest.fixture(scope="module", params=["secret", "hidden"])
def stock(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return repository(tmp_path_factory.mktemp(request.param) / "r", request.param)


@pytest.fixture(scope="module")
def through(stock: Stock) -> Served:
    found = bridged(stock)
    assert found.reason
    return found


@pytest.fixture(scope="module")
def strayed(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    """Revision 3 is hidden and a draft root, 4 was rewritten to 5, which is secret."""
    stock = repository(tmp_path_factory.mktemp("stray") / "r", "hidden")
    stray, old, secret = (stock.commit(0) for _ in range(3))
    stock.rewrite([stray], [])
    stock.retract(2, secret)
    stock.rewrite([old], [secret])
    return stock


@pytest.mark.parametrize("namespace", ["phases", "obsolete", "bookmarks", "namespaces"])
def test_a_list_is_of_what_is_served(strayed: Stock, namespace: str) -> None:
    asked = query({"cmd": "listkeys", "namespace": namespace})
    reply = ask(bridged(strayed), asked)
    assert strayed.repo[3].hex() not in reply.body
    assert reply == ask(served(strayed), asked)


def test_a_list_in_a_bundle_is_of_what_is_served(strayed: Stock) -> None:
    caps = "HG20,bundle2=" + quote("HG20\nchangegroup=02\nlistkeys")
    asked = {"cmd": "getbundle", "bundlecaps": caps, "cg": "0", "listkeys": "phases,obsolete"}
    headers = {b"x-hgproto-1": b"0.1 0.2 comp=none"}
    reply = ask(bridged(strayed, compressionengines="none"), query(asked), headers)
    assert b"publishing" not in reply.body
    assert strayed.repo[1].hex() in reply.body
    assert strayed.repo[3].hex() not in reply.body
    assert reply == ask(served(strayed, compressionengines="none"), query(asked), headers)


def test_it_is_named_by_no_command(stock: Stock, through: Served) -> None:
    gone = stock.repo[2].hex().decode()
    native = served(stock)
    questions: list[dict[str, str]] = [
        *({"cmd": "lookup", "key": key} for key in (gone, gone[:12], gone[:6], "2", "tip", "77")),
        {"cmd": "known", "nodes": f"{gone} {ZERO}"},
        {"cmd": "branches", "nodes": gone},
        {"cmd": "getbundle", "heads": gone, "common": ZERO},
        {"cmd": "changegroup", "roots": gone},
        {"cmd": "changegroupsubset", "bases": ZERO, "heads": gone},
        {"cmd": "changegroupsubset", "bases": gone, "heads": ZERO},
        {"cmd": "heads"},
        {"cmd": "branchmap"},
        {"cmd": "batch", "cmds": f"lookup key={gone};lookup key=2;heads "},
    ]
    for question in questions:
        asked = urlencode(question).encode()
        assert ask(through, asked) == ask(native, asked), question


def test_it_is_in_no_bundle(stock: Stock, through: Served) -> None:
    gone = stock.repo[2].hex()
    caps = "HG20,bundle2=" + quote("HG20\nchangegroup=02")
    asked = {"cmd": "getbundle", "bundlecaps": caps, "common": ZERO, "phases": "0"}
    headers = {b"x-hgproto-1": b"0.1 0.2 comp=none"}
    for heads in ({}, {"heads": gone.decode()}):
        body = ask(bridged(stock, compressionengines="none"), query(asked | heads), headers).body
        assert bytes.fromhex(gone.decode()) not in body
        assert b"filtered" not in body
        assert b"hidden" not in body
        assert (stock.repo[1].node() in body) == (not heads)


def query(arguments: dict[str, str]) -> bytes:
    return urlencode(arguments).encode()


@pytest.mark.parametrize("asked", STREAMS, ids=["v1", "v2", "v3"])
def test_no_stream_carries_it(stock: Stock, through: Served, asked: bytes) -> None:
    headers = {b"x-hgproto-1": b"0.1 0.2 comp=none"}
    body = ask(through, asked, headers).body
    native = ask(served(stock), asked, headers).body
    assert len(body) < 250
    assert (b"00changelog" in body, b"00changelog" in native) == (False, False)
    if b"stream_out" in asked:
        assert body == native == b"1\n"


def test_streams_are_not_advertised_unless_configured(stock: Stock, through: Served) -> None:
    def words(where: Served) -> list[bytes]:
        found = ask(where, b"cmd=capabilities").body.split()
        return [word for word in found if word.startswith(b"stream")]

    assert words(through) == words(served(stock)) == []
    allowed = {"uncompressedallowsecret": "yes"}
    assert words(bridged(stock, **allowed)) == words(served(stock, **allowed)) != []


def test_streams_are_back_once_nothing_is_left_out(tmp_path: Path) -> None:
    stock = repository(tmp_path / "r", "secret")
    where = bridged(stock)
    assert ask(where, b"cmd=stream_out").body == b"1\n"
    stock.publish(2)
    assert ask(where, b"cmd=stream_out").body.startswith(b"0\n")
    assert b"streamreqs=" in ask(where, b"cmd=capabilities").body
