"""A ready-made bundle goes out where stock would send it too."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from tests.unit.hg.store.stock import Stock
from tests.unit.hg.wire.stockweb import PROTO, Reply, ask, served, stock_reply

HEADERS = {b"x-hgproto-1": PROTO}
CAPS = quote("HG20,bundle2=" + quote("HG20\nchangegroup=01,02"))
READY = b"\x04noneHG20 a ready bundle"


@pytest.fixture
def stock(plain: Stock) -> Stock:
    """0 - 1 - 2 - 3 - 4, and 5 on 1."""
    for parent in (2, 3, 1):
        plain.commit(parent)
    (plain.path / ".hg/ready.hg").write_bytes(READY[5:])
    return plain


def node(stock: Stock, rev: int) -> str:
    text: bytes = stock.repo[rev].hex()
    return text.decode()


def pull(stock: Stock, heads: list[int], common: list[int], **config: str) -> tuple[Reply, Reply]:
    asked = (
        f"cmd=getbundle&bundlecaps={CAPS}&heads={'+'.join(node(stock, rev) for rev in heads)}"
        f"&common={'+'.join(node(stock, rev) for rev in common) or '0' * 40}"
    ).encode()
    settings = {f"server.{name}": value for name, value in config.items()}
    oracle = Stock(stock.path, stock.config | settings)
    return ask(served(stock, **config), asked, HEADERS), stock_reply(oracle, asked, HEADERS)


@pytest.mark.parametrize(
    ("entry", "heads", "common", "is_sent"),
    [
        ("", [4], [], True),
        ("heads={2}", [4], [], True),
        ("heads={2}", [4], [1], True),
        ("heads={2} bases={1}", [4], [1], True),
        ("heads={2} bases={1}", [4], [], False),
        ("heads={2} bases={0};{1}", [4], [1], True),
        ("heads={2}", [4], [2], False),
        ("heads={2}", [4], [3], False),
        ("heads={5}", [4], [], False),
        ("heads={5}", [4, 5], [], True),
        ("heads={2};{5}", [4], [], False),
        ("BUNDLESPEC=gzip-v2", [4], [], True),
        ("BUNDLESPEC=zstd-v2", [4], [], True),
        ("BUNDLESPEC=bzip2-v2", [4], [], True),
        ("BUNDLESPEC=lzma-v2", [4], [], False),
        ("BUNDLESPEC=none-v2;stream=v2", [4], [], False),
        ("COMPRESSION=zstd", [4], [], True),
        ("COMPRESSION=lzma", [4], [], False),
    ],
)
def test_bundle_is_sent_where_stock_sends_it(
    stock: Stock, entry: str, heads: list[int], common: list[int], is_sent: bool
) -> None:
    for rev in range(6):
        entry = entry.replace(f"{{{rev}}}", node(stock, rev))
    manifest = f"gone.hg {entry}\nready.hg {entry}\n"
    (stock.path / ".hg/pullbundles.manifest").write_text(manifest)
    reply, expected = pull(stock, heads, common)
    assert (expected.body == READY) == is_sent
    assert (reply.body == READY) == is_sent
    assert reply.status == 200


@pytest.mark.parametrize("entry", ["heads=xyz", f"heads={'1' * 40}", f"bases={'1' * 40}"])
def test_entry_of_no_use_is_passed_over(stock: Stock, entry: str) -> None:
    """Stock answers 500."""
    (stock.path / ".hg/pullbundles.manifest").write_text(f"ready.hg {entry}\n")
    reply = ask(served(stock), b"cmd=getbundle&heads=" + node(stock, 4).encode(), HEADERS)
    assert reply.status == 200
    assert reply.body[:5] == b"\x04zstd"


def test_feature_can_be_turned_off(stock: Stock) -> None:
    (stock.path / ".hg/pullbundles.manifest").write_text("ready.hg\n")
    assert pull(stock, [4], [], pullbundle="no")[0].body != READY


def test_client_must_have_said_that_it_asks_again(stock: Stock) -> None:
    (stock.path / ".hg/pullbundles.manifest").write_text("ready.hg\n")
    headers = {b"x-hgproto-1": b"0.1 0.2 comp=zstd"}
    asked = b"cmd=getbundle&heads=" + node(stock, 4).encode()
    assert ask(served(stock), asked, HEADERS).body == READY
    assert ask(served(stock), asked, headers).body != READY


def test_path_stays_below_the_repository(stock: Stock) -> None:
    (stock.path / "outside.hg").write_bytes(READY[5:])
    (stock.path / ".hg/pullbundles.manifest").write_text("../outside.hg\n")
    asked = b"cmd=getbundle&heads=" + node(stock, 4).encode()
    assert ask(served(stock), asked, HEADERS).body != READY
