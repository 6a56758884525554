"""Mercurial's own settings hold for a repository that goes through the bridge, too."""

from __future__ import annotations

import re
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from mercurial import bundle2, changegroup, discovery
from tests.unit.hg.store.stock import Stock, random_repository
from tests.unit.hg.wire.bridging import bridged, bridged_by
from tests.unit.hg.wire.stockweb import ask, read, served

from trunkline.hg.stock.bridge import close_shared_pool
from trunkline.hg.wire.answer import answer
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served

ZERO = "0" * 40
NO_PROTO = {b"x-hgproto-1": b"0.1"}
CAPS = "HG20,bundle2=" + quote("HG20\nchangegroup=02\nstream=v2")
STREAM = {"cmd": "getbundle", "stream": "1", "cg": "0", "bundlecaps": CAPS}
FULL = {"cmd": "getbundle", "common": ZERO, "bundlecaps": CAPS}
BARE = {"cmd": "getbundle", "common": ZERO}


@pytest.fixture(autouse=True, scope="module")
def pool() -> Iterator[None]:
    yield
    close_shared_pool()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return random_repository(tmp_path_factory.mktemp("settings") / "r", 11)


def query(arguments: dict[str, str]) -> bytes:
    return urlencode(arguments).encode()


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"view": "immutable"}, {"cmd": "heads"}),
        ({"maxhttpheaderlen": "777"}, {"cmd": "capabilities"}),
        ({"uncompressedallowsecret": "yes"}, {"cmd": "capabilities"}),
        ({"uncompressed": "no"}, {"cmd": "capabilities"}),
        ({"bundle2.stream": "no"}, {"cmd": "capabilities"}),
        ({"preferuncompressed": "yes", "uncompressedallowsecret": "1"}, {"cmd": "capabilities"}),
        ({"compressionengines": "zlib"}, {"cmd": "capabilities"}),
    ],
    ids=str,
)
def test_text_is_as_natively(
    history: Stock, settings: dict[str, str], asked: dict[str, str]
) -> None:
    found = ask(bridged(history, **settings), query(asked)).body
    assert found == ask(served(history, **settings), query(asked)).body
    assert found != ask(served(history), query(asked)).body


REFUSED = [
    ({"bundle1": "no"}, BARE, b"incompatible Mercurial client; bundle2 required"),
    ({"bundle1.pull": "no"}, BARE, b"incompatible Mercurial client; bundle2 required"),
    ({"bundle1gd": "no"}, BARE, b"incompatible Mercurial client; bundle2 required"),
    ({"disablefullbundle": "yes"}, FULL, b"server has pull-based clones disabled"),
    ({"disablefullbundle": "yes"}, BARE, b"server has pull-based clones disabled"),
    ({"bundle2.stream": "no", "uncompressedallowsecret": "1"}, STREAM, b"does not allow this"),
]


@pytest.mark.parametrize(("settings", "asked", "words"), REFUSED, ids=str)
def test_what_is_switched_off_is_refused(
    history: Stock, settings: dict[str, str], asked: dict[str, str], words: bytes
) -> None:
    """Not so without the setting."""
    asked = asked | {"heads": ask(served(history), b"cmd=heads").body.decode().strip()}
    for where in (bridged(history, **settings), served(history, **settings)):
        assert words in unpacked(where, asked)
    others = {name: value for name, value in settings.items() if value == "1"}
    assert words not in unpacked(bridged(history, **others), asked)


def unpacked(where: Served, asked: dict[str, str]) -> bytes:
    reply = ask(where, query(asked), NO_PROTO)
    assert reply.status == 200
    is_packed = reply.media_type == "application/mercurial-0.1"
    return zlib.decompress(reply.body) if is_packed else reply.body


@pytest.mark.parametrize(
    ("name", "proto"), [("zliblevel", b"0.1"), ("zstdlevel", b"0.1 0.2 comp=zstd")]
)
def test_level_of_compression(history: Stock, name: str, proto: bytes) -> None:
    headers = {b"x-hgproto-1": proto}
    sizes = [
        len(ask(bridged(history, **{name: level}), query(BARE), headers).body)
        for level in ("1", "9" if name == "zliblevel" else "20")
    ]
    assert sizes[0] > sizes[1]


def test_clone_bundles_are_advertised_when_there(tmp_path: Path) -> None:
    stock = Stock(tmp_path / "r")
    stock.commit()
    where, words = bridged(stock), {b"clonebundles", b"clonebundles_manifest"}
    assert not words & set(ask(where, b"cmd=capabilities").body.split())
    (stock.path / ".hg/clonebundles.manifest").write_bytes(b"https://example.org/x\n")
    assert words <= set(ask(where, b"cmd=capabilities").body.split())
    assert ask(where, b"cmd=capabilities").body == ask(served(stock), b"cmd=capabilities").body
    for command in words:
        asked = b"cmd=" + command
        assert b"example.org" in ask(where, asked).body
        assert ask(where, asked) == ask(served(stock), asked)


def test_a_batch_sees_one_state(tmp_path: Path) -> None:
    """A hook hides the tip in the middle of it: one in Python, as stock rereads after others."""
    stock = Stock(tmp_path / "r", {"phases.publish": "no"})
    stock.commit()
    stock.commit(0)
    tip = stock.repo[1].hex()
    hg = Path(sys.executable).with_name("hg")
    hook = tmp_path / "hook.py"
    command = [str(hg), "-R", str(stock.path), "phase", "--force", "--secret", "-r", "tip"]
    hook.write_text(f"import subprocess\ndef hide(**_): subprocess.run({command!r}, check=True)\n")
    where = bridged_by(stock.path, stock.config | {"hooks.listkeys": f"python:{hook}:hide"})
    cmds = query({"cmds": "heads ;listkeys namespace=none;heads ;known nodes=" + tip.decode()})
    assert ask(where, b"cmd=batch&" + cmds).body == b"%s\n;;%s\n;1" % (tip, tip)
    assert ask(where, b"cmd=heads").body == stock.repo[0].hex() + b"\n"


# What holds for a push


def push(where: Served, bundle: bytes) -> bytes:
    asked = b"cmd=unbundle&heads=" + b"force".hex().encode()
    headers = {b"x-hgproto-1": b"0.1 0.2 comp=none"}
    request = Request("POST", asked, headers, may_push=True, payload=iter([bundle]))
    return read(answer(where, request)).body


def bundle_of(source: Stock, changes: bytes = b"", bookmarks: bytes = b"") -> bytes:
    bundler = bundle2.bundle20(source.ui, {b"HG20": ()})
    bundler.newpart(b"replycaps", data=b"HG20\nerror=abort")
    part = bundler.newpart(b"CHANGEGROUP", data=changes or changes_of(source))
    part.addparam(b"version", b"02")
    if bookmarks:
        bundler.newpart(b"BOOKMARKS", data=bookmarks)
    return b"".join(bundler.getchunks())


def changes_of(source: Stock) -> bytes:
    outgoing = discovery.outgoing(source.repo, [], source.repo.heads())
    return b"".join(changegroup.makestream(source.repo, outgoing, b"02", b"push"))


def without_files(changes: bytes) -> bytes:
    """A changegroup that ends after the manifests."""
    at = 0
    for _ in range(2):
        while (length := struct.unpack_from(">i", changes, at)[0]) > 0:
            at += length
        at += 4
    return changes[:at] + bytes(4)


@pytest.mark.parametrize(("setting", "is_taken"), [("no", True), ("yes", False)])
def test_validate_refuses_a_push_without_its_files(
    tmp_path: Path, setting: str, is_taken: bool
) -> None:
    source, target = Stock(tmp_path / "source"), Stock(tmp_path / "target")
    source.commit()
    assert source.repo[0].files()
    where = bridged(target, validate=setting)
    reply = push(where, bundle_of(source, without_files(changes_of(source))))
    assert (re.search(rb"error:abort", reply, re.IGNORECASE) is None) is is_taken, reply
    assert (ask(where, b"cmd=heads").body[:40] == source.repo[0].hex()) is is_taken


@pytest.mark.parametrize(("setting", "is_taken"), [("no", True), ("yes", False)])
def test_pushkey_hooks_judge_bookmarks_where_configured(
    tmp_path: Path, setting: str, is_taken: bool
) -> None:
    source, target = Stock(tmp_path / "source"), Stock(tmp_path / "target")
    source.commit()
    config = {"hooks.prepushkey": "false", "server.bookmarks-pushkey-compat": setting}
    where = bridged_by(target.path, target.config | config)
    mark = struct.pack(">20sH", source.repo[0].node(), 4) + b"mark"
    reply = push(where, bundle_of(source, bookmarks=mark))
    assert (re.search(rb"error:abort", reply, re.IGNORECASE) is None) is is_taken, reply
    found = ask(where, b"cmd=listkeys&namespace=bookmarks").body
    assert (b"mark\t" in found) is is_taken
