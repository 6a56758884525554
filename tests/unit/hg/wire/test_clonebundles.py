from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hg.store.stock import Stock
from tests.unit.hg.wire.stockweb import ask, served, stock_reply

from trunkline.errors import StoreError
from trunkline.hg.bundle.uvarint import format_uvarint
from trunkline.hg.wire.clonebundles import READ_SIZE
from trunkline.hg.wire.file_reply import sized_file

MANIFEST = b"""\
https://example.org/full.hg BUNDLESPEC=gzip-v2 REQUIRESNI=true
peer-bundle-cache://full.hg BUNDLESPEC=none-v2
https://example.org/stream.hg BUNDLESPEC=none-v2;stream=v2;store-fingerprint=abc

https://example.org/bare
"""


@pytest.fixture
def listed(plain: Stock) -> Stock:
    (plain.path / ".hg/clonebundles.manifest").write_bytes(MANIFEST)
    return plain


@pytest.mark.parametrize("command", [b"cmd=clonebundles", b"cmd=clonebundles_manifest"])
def test_manifest_is_given_as_stock_gives_it(listed: Stock, command: bytes) -> None:
    assert ask(served(listed), command) == stock_reply(listed, command)


def test_old_form_leaves_out_what_old_clients_do_not_know(listed: Stock) -> None:
    body = ask(served(listed), b"cmd=clonebundles").body
    assert b"peer-bundle-cache" not in body
    assert b"store-fingerprint" not in body
    assert body.count(b"https://") == 2


def test_no_manifest_is_an_empty_list(plain: Stock) -> None:
    assert ask(served(plain), b"cmd=clonebundles_manifest").body == b""


def cached(stock: Stock, size: int) -> bytes:
    folder = stock.path / ".hg/bundle-cache/sub"
    folder.mkdir(parents=True)
    data = bytes(range(256)) * (size // 256 + 1)
    (folder / "full.hg").write_bytes(data[:size])
    return data[:size]


@pytest.mark.parametrize("size", [0, 1, 127, 128, READ_SIZE, READ_SIZE + 1])
def test_inline_bundle_is_its_length_and_its_bytes(plain: Stock, size: int) -> None:
    data = cached(plain, size)
    asked = b"cmd=get_cached_bundle_inline&path=sub/full.hg"
    reply = ask(served(plain), asked)
    assert reply.body == format_uvarint(size) + data
    assert reply.media_type == "application/mercurial-0.1"
    none = stock_reply(plain, asked, {b"x-hgproto-1": b"0.2 comp=none"})
    assert none.body == b"\x04none" + reply.body


@pytest.mark.parametrize(
    "path", ["..", "../hgrc", "/etc/passwd", "sub", "", "none", "%00", "link", "../bundle-cache2/x"]
)
def test_inline_bundle_leaves_the_folder_by_no_path(plain: Stock, path: str) -> None:
    cached(plain, 10)
    (plain.path / ".hg/hgrc").write_bytes(b"[secrets]\n")
    beside = plain.path / ".hg/bundle-cache2"
    beside.mkdir()
    (beside / "x").write_bytes(b"secret")
    Path(plain.path / ".hg/bundle-cache/link").symlink_to(beside / "x")
    reply = ask(served(plain), b"cmd=get_cached_bundle_inline&path=" + path.encode())
    assert (reply.status, reply.media_type) == (200, "application/hg-error")
    assert b"does not exist" in reply.body or b"illegal path" in reply.body


def test_inline_bundle_that_goes_away_is_an_error_of_the_disk(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        sized_file(str(tmp_path / "gone"))


def test_inline_bundle_from_a_configured_folder(plain: Stock) -> None:
    folder = plain.path.parent / "elsewhere"
    folder.mkdir()
    (folder / "x").write_bytes(b"abc")
    settings = {"peer-bundle-cache-root": str(folder)}
    reply = ask(served(plain, **settings), b"cmd=get_cached_bundle_inline&path=x")
    assert reply.body == b"\x03abc"
