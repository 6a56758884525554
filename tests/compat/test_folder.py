"""A folder of repositories: nested ones, new ones, subrepositories, odd names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.compat.hg import Hg
from tests.compat.history import PUBLISHED, assert_same
from tests.compat.rawhttp import request
from tests.compat.serving import Serve, Serving, serving
from tests.compat.sources import Source
from tests.compat.warm import WARM


@pytest.mark.parametrize(
    "name", ["one", "group/two", "group/deep/three", "with space/gr\u00f6\u00dfe", "super/sub"]
)
def test_each_repository_is_at_its_path(
    hg: Hg, name: str, source: Source, serve: Serve, tmp_path: Path
) -> None:
    folder, clone = source("tree"), tmp_path / "clone"
    hg("clone", f"{serve(folder).url}/{quote(name)}", clone)
    assert_same(hg, clone, folder / name, without=PUBLISHED)


def test_subrepository_is_cloned_too(hg: Hg, source: Source, serve: Serve, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    hg("clone", serve(source("tree")).url + "/super", clone)
    assert (clone / "sub" / "inner").read_bytes() == b"inner\n"


def test_repository_made_a_moment_ago_is_there(
    writable: Source, serve_own: Serve, tmp_path: Path
) -> None:
    folder = writable("tree")
    server = serve_own(folder)
    assert request(server.address, "/new?cmd=heads").status == 404
    WARM("clone", folder / "one", folder / "new")
    WARM("clone", f"{server.url}/new", tmp_path / "clone")
    assert_same(WARM, tmp_path / "clone", folder / "one", without=PUBLISHED)


@pytest.fixture(scope="module")
def beside_secret(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A repository lies beside the folder that is served, and a link in that leads to it."""
    home = tmp_path_factory.mktemp("beside")
    shutil.copytree(source("tree"), home / "served", symlinks=True)
    WARM("init", home / "secret")
    (home / "served" / "link-out").symlink_to(home / "secret")
    with serving(home / "served", home / "server") as server:
        yield server


@pytest.mark.parametrize(
    "path",
    [
        "/../secret",
        "/%2e%2e/secret",
        "/one/..%2f..%2fsecret",
        "/one%2f..%2f..%2fsecret",
        "/one\\..\\..\\secret",
        "/one/%00",
        "//secret",
        "/link-out",
        "/one/.hg",
        "/not-a-repository",
    ],
)
def test_nothing_outside_is_served(path: str, beside_secret: Serving) -> None:
    reply = request(beside_secret.address, path + "?cmd=capabilities")
    assert reply.status in (400, 403, 404)
    assert not (reply.header("content-type") or "").startswith("application/mercurial-0")
    beside_secret.check_log()


def test_index_lists_them(source: Source, serve: Serve) -> None:
    page = request(serve(source("tree")).address, "/").body.decode()
    for name in ("one", "group/two", "group/deep/three", "super"):
        assert name in page
    assert "not-a-repository" not in page
