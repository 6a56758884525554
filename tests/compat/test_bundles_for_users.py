"""Clone bundles of a private repository: for who may read it, and for nobody else."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import bcrypt
import pytest
from msgspec.structs import replace
from tests.compat.hg import Hg
from tests.compat.history import PUBLISHED, assert_same
from tests.compat.rawhttp import request
from tests.compat.serving import Serve, Serving
from tests.compat.test_access import auth
from tests.compat.warm import WARM
from tests.unit.bundles.making import Made

SETTINGS = """\
[bundles]
path = "bundles"
[auth]
password_file = "htpasswd"
[[access]]
repositories = ["private/**"]
read = ["bob"]
"""
LOGIN = {"Authorization": "Basic " + base64.b64encode(b"bob:other").decode()}


@pytest.fixture(scope="session")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `repos/private/r` is, and its bundles."""
    folder = tmp_path_factory.mktemp("private")
    made = Made(folder)
    (folder / "repos" / "private").mkdir(parents=True)
    shutil.move(made.repository, folder / "repos" / "private" / "r")
    made.repository = folder / "repos" / "private" / "r"
    made.bundles = replace(made.bundles, path=str(folder / "bundles"))
    made.make()
    (folder / "s.toml").write_text(SETTINGS)
    hashed = bcrypt.hashpw(b"other", bcrypt.gensalt(5)).decode()
    (folder / "htpasswd").write_text(f"bob:{hashed}\n")
    return folder


@pytest.fixture
def server(private: Path, serve: Serve) -> Serving:
    return serve(private / "repos", "--settings", str(private / "s.toml"))


def test_who_logs_in_clones_by_a_bundle(
    hg: Hg, server: Serving, private: Path, tmp_path: Path
) -> None:
    url = f"{server.url}/private/r"
    said = hg("clone", "--noninteractive", "-U", url, tmp_path / "c", *auth(url, "bob"))
    assert b"applying clone bundle from" in said
    assert b"-zstd-" in said
    assert_same(hg, tmp_path / "c", private / "repos/private/r", without=PUBLISHED)


def test_others_get_no_list_and_no_file(server: Serving, private: Path, tmp_path: Path) -> None:
    there = request(server.address, "/private/r?cmd=clonebundles", LOGIN)
    url = there.body.split()[0].decode().removeprefix(server.url)
    data = request(server.address, url, LOGIN)
    assert (data.status, data.body[:4]) == (200, b"HG20")
    for path in (url, "/private/r?cmd=clonebundles", "/private/r?cmd=capabilities"):
        refused = request(server.address, path)
        assert refused.status in (401, 404)
        assert b"bundle" not in refused.body
    name = url.rpartition("=")[2]
    inline = request(
        server.address, f"/private/r?cmd=get_cached_bundle_inline&path=trunkline/{name}"
    )
    assert inline.status in (401, 404)
    WARM.run("clone", "--noninteractive", f"{server.url}/private/r", tmp_path / "c", expect=255)
