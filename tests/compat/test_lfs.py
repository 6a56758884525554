"""Repositories with large files (LFS): history travels, and the contents that don't are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.hg import INSTALLED, Hg
from tests.compat.history import nodes
from tests.compat.rawhttp import request
from tests.compat.serving import Serve, Serving

WORDS = b"check that lfs serving is enabled on "


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Made with the extension; all of its files are kept outside of the store."""
    path = tmp_path / "large"
    INSTALLED("init", path)
    usercache = tmp_path / "servers-cache"
    hgrc = f"[extensions]\nlfs =\n[lfs]\ntrack = all()\nusercache = {usercache}\n"
    (path / ".hg/hgrc").write_text(hgrc)
    (path / "big").write_bytes(b"big\n")
    INSTALLED("commit", "-q", "-A", "-m", "big", "-d", "0 0", cwd=path)
    assert (
        b"lfs" in (path / ".hg/requires").read_bytes() + (path / ".hg/store/requires").read_bytes()
    )
    return path


@pytest.fixture
def server(repository: Path, serve_own: Serve) -> Iterator[Serving]:
    found = serve_own(repository)
    yield found
    found.check_log()


@pytest.fixture
def client(hg: Hg, tmp_path: Path) -> Hg:
    return hg.with_config(f"lfs.usercache={tmp_path / 'clients-cache'}")


def test_clone_without_update_has_the_history(
    client: Hg, repository: Path, server: Serving, tmp_path: Path
) -> None:
    client("clone", "--noupdate", server.url, tmp_path / "clone")
    assert nodes(client, tmp_path / "clone") == nodes(INSTALLED, repository)


def test_update_says_who_does_not_serve_the_contents(
    client: Hg, server: Serving, tmp_path: Path
) -> None:
    failed = client.run("clone", server.url, tmp_path / "clone", expect=None)
    assert failed.status == 255
    assert WORDS in failed.out + failed.err
    assert b"Traceback" not in failed.out + failed.err


def test_contents_that_are_at_hand_are_used(
    hg: Hg, server: Serving, repository: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    able = hg.with_config(f"lfs.usercache={tmp_path / 'servers-cache'}")
    able("clone", server.url, clone)
    assert (clone / "big").read_bytes() == b"big\n"


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "objects/batch"), ("PUT", "objects/" + "0" * 64), ("GET", ""), ("GET", "locks")],
)
def test_addresses_of_lfs_answer_in_words(server: Serving, method: str, path: str) -> None:
    reply = request(server.address, f"/.git/info/lfs/{path}", {}, method=method)
    assert reply.status == 400
    assert reply.body.startswith(b"the contents of large files (LFS) aren't served here")
