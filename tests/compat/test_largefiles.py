"""The extension largefiles: contents by commands of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.hg import Hg
from tests.compat.pushing import Target, said
from tests.compat.rawhttp import request
from tests.compat.serving import Serve
from tests.compat.warm import WARM

LARGE = WARM.with_config("extensions.largefiles=")
BIG = bytes(range(256)) * 12_000  # 3 MB
NAME = hashlib.sha1(BIG).hexdigest()


@pytest.fixture
def target(tmp_path: Path, host: Host) -> Iterator[Target]:
    path = host.folder / tmp_path.name
    LARGE("init", path)
    hgrc = f"[extensions]\nlargefiles =\n[largefiles]\nusercache = {tmp_path / 'servers-cache'}\n"
    (path / ".hg/hgrc").write_text(hgrc)
    (path / "big").write_bytes(BIG)
    (path / "small").write_bytes(b"small\n")
    LARGE("add", "-q", "--large", "big", cwd=path)
    LARGE("commit", "-q", "-A", "-m", "big", "-d", "0 0", cwd=path)
    found = Target(path, host.server, tmp_path, f"/{path.name}", LARGE)
    yield found
    found.server.check_log()
    LARGE("verify", "--quiet", "--large", "--lfa", "--lfc", cwd=path)


@pytest.fixture
def client(hg: Hg, tmp_path: Path) -> Hg:
    cache = tmp_path / "clients-cache"
    return hg.with_config("extensions.largefiles=", f"largefiles.usercache={cache}")


def test_clone_has_the_contents(client: Hg, target: Target) -> None:
    clone = target.clone(client)
    assert (clone / "big").read_bytes() == BIG
    client("verify", "--quiet", "--large", "--lfa", "--lfc", cwd=clone)


def test_push_sends_what_the_server_has_not(client: Hg, target: Target, tmp_path: Path) -> None:
    clone = target.clone(client)
    data = os.urandom(2_000_000)
    (clone / "new").write_bytes(data)
    client("add", "-q", "--large", "new", cwd=clone)
    client("commit", "-q", "-m", "new", "-d", "0 0", cwd=clone)
    client("push", cwd=clone)
    name = hashlib.sha1(data).hexdigest()
    assert (target.repository / ".hg/largefiles" / name).read_bytes() == data
    shutil.rmtree(tmp_path / "clients-cache")
    assert (target.clone(client, "other") / "new").read_bytes() == data


def test_a_client_without_the_extension_is_told(hg: Hg, target: Target) -> None:
    failed = hg.run("pull", target.url, cwd=empty(target), expect=255)
    words = said(failed)
    assert b"This repository uses the largefiles extension." in words
    assert b"-" not in words.partition(b"config file.")[2]  # the end mark of the pipe's own


def empty(target: Target) -> Path:
    path = target.home / "empty"
    WARM("init", path)
    return path


def test_commands_answer_as_stock_does(target: Target, serve_own: Serve) -> None:
    """But for what isn't there: stock says 500 and writes a traceback."""
    stock = serve_own(target.repository, stock=True).address
    missing = "0" * 40
    for query in (
        f"?cmd=statlfile&sha={NAME}",
        f"?cmd=statlfile&sha={missing}",
        f"?cmd=getlfile&sha={NAME}",
        "?cmd=lheads",
        "?cmd=heads",
        f"?cmd=batch&cmds=statlfile+sha%3D{NAME}%3Blheads+",
    ):
        ask = [target.request(query), request(stock, f"/{query}")]
        assert ask[0].status == ask[1].status, query
        assert ask[0].body.strip() == ask[1].body.strip(), query
        assert ask[0].header("content-type") == ask[1].header("content-type"), query


def test_a_file_that_is_missing_is_named(client: Hg, target: Target, tmp_path: Path) -> None:
    (target.repository / ".hg/largefiles" / NAME).unlink()
    shutil.rmtree(tmp_path / "servers-cache")
    failed = client.run("clone", target.url, tmp_path / "clone", expect=None)
    assert b"big: largefile %s not available from " % NAME.encode() in said(failed)
    assert (tmp_path / "clone/small").exists()
    (target.repository / ".hg/largefiles" / NAME).write_bytes(BIG)


def test_contents_that_are_not_what_their_name_says_are_not_kept(target: Target) -> None:
    reply = target.request(f"?cmd=putlfile&sha={'0' * 40}", {}, "POST", b"something else")
    assert reply.status == 200
    assert reply.body.startswith(b"1\nlargefiles: failed to put ")
    kept = [name for name in os.listdir(target.repository / ".hg/largefiles") if len(name) >= 40]
    assert kept == [NAME]
    data = b"an empty sha is no name"
    reply = target.request("?cmd=putlfile&sha=..", {}, "POST", data)
    assert reply.body.startswith(b"putlfile: sha must have 40 hexadecimal digits")


def test_without_leave_nothing_is_put(target: Target, serve_own: Serve) -> None:
    data = b"nobody may"
    name = hashlib.sha1(data).hexdigest()
    address = serve_own(target.repository).address
    reply = request(address, f"/?cmd=putlfile&sha={name}", {}, "POST", data)
    assert (reply.status, reply.body[:2]) != (200, b"0\n")
    assert b"push not authorized" in reply.body or b"ssl required" in reply.body
    assert not (target.repository / ".hg/largefiles" / name).exists()
