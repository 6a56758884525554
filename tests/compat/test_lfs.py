"""Repositories with large files (LFS): contents travel apart from history, both ways."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.hg import Hg
from tests.compat.history import nodes
from tests.compat.pushing import Target, said
from tests.compat.rawhttp import Reply, request
from tests.compat.serving import Serve
from tests.compat.warm import WARM

LFS = WARM.with_config("extensions.lfs=")
JSON = "application/vnd.git-lfs+json"
BIG = bytes(range(256)) * 12_000  # 3 MB
NAME = hashlib.sha256(BIG).hexdigest()
TRACKED = "[extensions]\nlfs =\n[lfs]\ntrack = all()\nusercache = {cache}\n"


@pytest.fixture
def target(tmp_path: Path, host: Host) -> Iterator[Target]:
    """Made with the extension; all of its files are kept outside of the store."""
    path = host.folder / tmp_path.name
    WARM("init", path)
    (path / ".hg/hgrc").write_text(TRACKED.format(cache=tmp_path / "servers-cache"))
    (path / "big").write_bytes(BIG)
    LFS("commit", "-q", "-A", "-m", "big", "-d", "0 0", cwd=path)
    found = Target(path, host.server, tmp_path, f"/{path.name}", LFS)
    yield found
    found.check()


@pytest.fixture
def client(hg: Hg, tmp_path: Path) -> Hg:
    cache = tmp_path / "clients-cache"
    return hg.with_config("extensions.lfs=", "lfs.track=all()", f"lfs.usercache={cache}")


def stored(repository: Path, name: str = NAME) -> Path:
    return repository / ".hg/store/lfs/objects" / name[:2] / name[2:]


def batch(target: Target, operation: str, *objects: object, **more: str) -> Reply:
    body = json.dumps({"operation": operation, "objects": objects}).encode()
    headers = {"Accept": JSON, "Content-Type": JSON, **more}
    return target.request("/.git/info/lfs/objects/batch", headers, "POST", body)


def put(target: Target, name: str, data: bytes) -> Reply:
    return target.request(f"/.hg/lfs/objects/{name}", {}, "PUT", data)


def test_clone_has_the_contents(client: Hg, target: Target) -> None:
    clone = target.clone(client)
    assert (clone / "big").read_bytes() == BIG
    assert nodes(client, clone) == nodes(LFS, target.repository)


def test_push_sends_what_the_server_has_not(client: Hg, target: Target, tmp_path: Path) -> None:
    clone = target.clone(client)
    data = os.urandom(2_000_000)
    name = hashlib.sha256(data).hexdigest()
    (clone / "new").write_bytes(data)
    (clone / "again").write_bytes(BIG)
    client("commit", "-q", "-A", "-m", "new", "-d", "0 0", cwd=clone)
    client("push", cwd=clone)
    assert stored(target.repository, name).read_bytes() == data
    assert (tmp_path / "servers-cache" / name[:2] / name[2:]).read_bytes() == data
    shutil.rmtree(tmp_path / "clients-cache")
    other = target.clone(client, "other")
    assert (other / "new").read_bytes() == data
    assert (other / "again").read_bytes() == BIG


def test_the_stock_server_serves_what_was_pushed(
    target: Target, tmp_path: Path, serve_own: Serve
) -> None:
    data = b"pushed to us\n"
    name = hashlib.sha256(data).hexdigest()
    assert put(target, name, data).status == 201
    shutil.rmtree(tmp_path / "servers-cache")  # its own copy is what counts
    url = serve_own(target.repository, stock=True).address
    reply = request(url, f"/.hg/lfs/objects/{name}")
    assert (reply.status, reply.body) == (200, data)
    assert request(url, f"/.hg/lfs/objects/{NAME}").body == BIG


def test_contents_in_the_cache_alone_are_served_and_kept(target: Target) -> None:
    stored(target.repository).unlink()
    reply = target.request(f"/.hg/lfs/objects/{NAME}")
    assert (reply.status, reply.body) == (200, BIG)
    offered = json.loads(batch(target, "upload", {"oid": NAME, "size": len(BIG)}).body)
    assert offered == {"transfer": "basic", "objects": [{"oid": NAME, "size": len(BIG)}]}
    assert stored(target.repository).read_bytes() == BIG


def test_batch_says_of_each_object_what_can_be_done(target: Target) -> None:
    missing = "0" * 64
    reply = batch(
        target,
        "download",
        {"oid": NAME, "size": len(BIG)},
        {"oid": NAME, "size": 1},
        {"oid": missing, "size": 1},
        {"oid": "../" * 20, "size": 1},
        Authorization="Basic YTpi",
    )
    assert reply.header("content-type") == JSON
    first, *wrong = json.loads(reply.body)["objects"]
    assert first["actions"]["download"] == {
        "href": f"{target.url}/.hg/lfs/objects/{NAME}",
        "header": {"Accept": "application/vnd.git-lfs", "Authorization": "Basic YTpi"},
    }
    assert [found["error"]["code"] for found in wrong] == [422, 404, 422]
    (offered,) = json.loads(batch(target, "upload", {"oid": missing, "size": 1}).body)["objects"]
    assert offered["actions"]["upload"]["href"].endswith(f"/.hg/lfs/objects/{missing}")
    verify = offered["actions"]["verify"]["href"].removeprefix(target.url)
    sizes = [
        target.request(
            verify,
            {"Accept": JSON, "Content-Type": JSON},
            "POST",
            json.dumps(wanted).encode(),
        ).status
        for wanted in (
            {"oid": NAME, "size": len(BIG)},
            {"oid": NAME, "size": 1},
            {"oid": missing, "size": 1},
        )
    ]
    assert sizes == [200, 422, 404]


def test_contents_that_are_not_what_their_name_says_are_not_kept(target: Target) -> None:
    before = sorted(target.repository.rglob("*"))
    reply = put(target, "0" * 64, b"something else")
    assert reply.status == 422
    assert b"the contents don't match their name" in reply.body
    folder = stored(target.repository, "0" * 64).parent
    assert [path for path in target.repository.rglob("*") if path not in before] == [folder]
    assert put(target, "../escape", b"").status == 404
    assert put(target, "%2e%2e", b"").status == 404


def test_damaged_contents_never_look_whole_and_can_be_sent_again(
    client: Hg, target: Target, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "servers-cache")
    stored(target.repository).chmod(0o644)
    stored(target.repository).write_bytes(BIG[:-1] + b"!")
    failed = client.run("clone", target.url, tmp_path / "clone", expect=None)
    assert failed.status != 0
    assert b"Traceback" not in said(failed)
    target.server.await_log("a large file that isn't what its name says")
    assert put(target, NAME, BIG).status == 200
    assert (target.clone(client, "second") / "big").read_bytes() == BIG


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("POST", "objects/batch", {}, b"{}", 415),
        ("POST", "objects/batch", {"Content-Type": JSON, "Accept": "text/html"}, b"{}", 406),
        ("POST", "objects/batch", {"Content-Type": JSON}, b"{", 400),
        ("POST", "objects/batch", {"Content-Type": JSON}, b"[]", 422),
        ("POST", "objects/batch", {"Content-Type": JSON}, b'{"operation": "x"}', 422),
        ("GET", "objects/batch", {}, None, 405),
        ("GET", "locks", {}, None, 404),
        ("GET", "", {}, None, 404),
    ],
)
def test_what_is_no_request_is_refused_in_words(
    target: Target,
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes | None,
    status: int,
) -> None:
    headers = {"Accept": JSON, **headers}
    reply = target.request(f"/.git/info/lfs/{path}", headers, method, body)
    assert reply.status == status
    if headers["Accept"] == JSON:
        assert json.loads(reply.body)["message"]


def test_without_leave_contents_are_read_and_not_written(target: Target, serve_own: Serve) -> None:
    read_only = Target(target.repository, serve_own(target.repository), target.home, hg=LFS)
    wanted = {"oid": NAME, "size": len(BIG)}
    assert batch(read_only, "download", wanted).status == 200
    refused = batch(read_only, "upload", wanted)
    assert refused.status in (401, 403)
    assert json.loads(refused.body) == {"message": "ssl required"}
    data = b"nobody may"
    name = hashlib.sha256(data).hexdigest()
    assert put(read_only, name, data).status in (401, 403)
    assert not stored(target.repository, name).exists()


def test_who_may_not_pull_gets_no_contents(target: Target) -> None:
    with (target.repository / ".hg/hgrc").open("a") as file:
        file.write("[web]\nallow-pull = no\n")
    assert batch(target, "download", {"oid": NAME, "size": len(BIG)}).status in (401, 403)
    reply = target.request(f"/.hg/lfs/objects/{NAME}")
    assert reply.status in (401, 403)
    assert BIG[:100] not in reply.body


def test_a_server_that_shall_not_serve_them_says_so(client: Hg, target: Target) -> None:
    with (target.repository / ".hg/hgrc").open("a") as file:
        file.write("[experimental]\nlfs.serve = no\n")
    failed = client.run("clone", target.url, target.home / "clone", expect=255)
    assert b"check that lfs serving is enabled on " in said(failed)
    shutil.rmtree(target.home / "clone", ignore_errors=True)
    clone = target.home / "history"
    client("clone", "--noupdate", target.url, clone)
    assert nodes(client, clone) == nodes(LFS, target.repository)
