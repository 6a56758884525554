from __future__ import annotations

from urllib.parse import unquote

import pytest
from tests.unit.hg.store.stock import Stock
from tests.unit.hg.wire.stockweb import ask, served, stock_reply

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.wire.bundle_capabilities import (
    bundle_capabilities,
    format_token,
    parse_blob,
    without_withheld,
)

OURS_ONLY = {"httpheader=4096", "httppostargs"}
STOCKS_ONLY = {"httpheader=1024"}


def words(body: bytes) -> dict[str, str]:
    return {word.partition("=")[0]: word.partition("=")[2] for word in body.decode().split(" ")}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"server.uncompressed": "no"},
        {"server.preferuncompressed": "yes"},
        {"server.bundle2.stream": "no"},
        {"experimental.stream-v3": "yes"},
        {"experimental.stream-v3": "yes", "server.bundle2.stream": "no"},
        {"server.concurrent-push-mode": "strict"},
        {"server.compressionengines": "none,bz2,zlib"},
        {"experimental.bundle2-advertise": "no"},
        {"experimental.evolution": "createmarkers"},
        {"experimental.evolution.exchange": "no", "experimental.evolution": "all"},
        {"devel.legacy.exchange": "phases"},
    ],
    ids=str,
)
def test_capabilities_are_stocks_but_for_what_is_said(
    plain: Stock, settings: dict[str, str]
) -> None:
    """Sorted; without digests and remote-changegroup (a door to other hosts) and
    delta-compression (of a changegroup that we don't write)."""
    stock = Stock(plain.path, plain.config | settings)
    body = ask(served(stock), b"cmd=capabilities").body
    assert body.decode().split(" ") == sorted(body.decode().split(" "))
    ours, theirs = words(body), words(stock_reply(stock, b"cmd=capabilities").body)
    assert ours.pop("httpheader") == "4096"
    assert theirs.pop("httpheader") == "1024"
    assert ours.pop("httppostargs") == ""
    our_blob = parse_blob(unquote(ours.pop("bundle2", "")).encode())
    their_blob = parse_blob(unquote(theirs.pop("bundle2", "")).encode())
    for name in (b"digests", b"remote-changegroup", b"delta-compression"):
        their_blob.pop(name, None)
    assert ours == theirs
    assert our_blob == their_blob


def test_headers_and_post_arguments_follow_configuration(plain: Stock) -> None:
    settings = {"server.maxhttpheaderlen": "1024", "experimental.httppostargs": "no"}
    stock = Stock(plain.path, plain.config | settings)
    ours = words(ask(served(stock), b"cmd=capabilities").body)
    theirs = words(stock_reply(stock, b"cmd=capabilities").body)
    assert ours.keys() == theirs.keys()
    assert ours["httpheader"] == "1024"


def test_who_may_have_to_log_in_sends_no_arguments_in_a_body(plain: Stock) -> None:
    """Stock clients can't send those a second time."""
    ours = served(plain)
    usual, anonymous = (
        words(ask(ours, b"cmd=capabilities", may_need_login=needs).body) for needs in (False, True)
    )
    assert usual.keys() - anonymous.keys() == {"httppostargs"}


def test_hello_is_capabilities_as_a_line(plain: Stock) -> None:
    ours = served(plain)
    expected = b"capabilities: " + ask(ours, b"cmd=capabilities").body + b"\n"
    assert ask(ours, b"cmd=hello").body == expected


def test_secret_changeset_takes_streams_away(plain: Stock) -> None:
    ours = served(plain)
    assert b"streamreqs=" in ask(ours, b"cmd=capabilities").body
    plain.retract(2, plain.commit(2))
    assert b"streamreqs=" not in ask(ours, b"cmd=capabilities").body
    allowed = served(plain, uncompressedallowsecret="yes")
    assert b"streamreqs=" in ask(allowed, b"cmd=capabilities").body


def test_clone_bundles_are_advertised_when_there(plain: Stock) -> None:
    ours = served(plain)
    assert b"clonebundles" not in ask(ours, b"cmd=capabilities").body
    (plain.path / ".hg/clonebundles.manifest").write_bytes(b"https://example.org/x\n")
    found = ask(ours, b"cmd=capabilities").body.split()
    assert {b"clonebundles", b"clonebundles_manifest"} <= set(found)
    (plain.path / ".hg/clonebundles.manifest").unlink()
    assert b"clonebundles" not in ask(ours, b"cmd=capabilities").body


def test_blob_reads_back() -> None:
    blob = bundle_capabilities(HgConfig())
    token = format_token(blob)
    assert parse_blob(unquote(token.decode().removeprefix("bundle2=")).encode()) == blob


def test_stocks_own_token_loses_what_is_withheld() -> None:
    token = (
        b"bundle2=HG20%0Achangegroup%3D01%2C02%0Adigests%3Dmd5%2Csha1%0Aremote-changegroup%3Dhttp"
    )
    assert without_withheld(token) == b"bundle2=HG20%0Achangegroup%3D01%2C02"
