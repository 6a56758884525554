"""Clone bundles that the server makes by itself, taken by real clients."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.history import PUBLISHED, assert_same, verify
from tests.compat.rawhttp import Reply, get, request
from tests.compat.serving import Serve, Serving, serving
from tests.compat.sources import Source, fresh
from tests.compat.warm import WARM

SETTINGS = """
[bundles]
make = "always"
check_seconds = 1
growth_percent = 5
free_bytes = 0
"""
SECONDS = 30
APPLIED = re.compile(rb"applying clone bundle from (\S+)")


@pytest.fixture(scope="session")
def made(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Of the rich repository, all of it public; asked once, and its bundles are there."""
    folder = tmp_path_factory.mktemp("made")
    repository = folder / "repositories" / "rich"
    WARM("clone", "--pull", "--noupdate", source("rich"), repository)
    settings = folder / "trunkline.toml"
    settings.write_text(SETTINGS)
    where = folder / "repositories"
    with serving(where, folder / "server", "--settings", str(settings), stock=False) as server:
        get(server.address, "rich?cmd=capabilities")
        await_true(lambda: lines(server, "rich"))
        yield server


def lines(server: Serving, name: str, command: str = "clonebundles") -> list[bytes]:
    body = get(server.address, f"{name}?cmd={command}").body
    return [line for line in body.splitlines() if line]


def origin(server: Serving) -> Path:
    return server.log_path.parents[1] / "repositories" / "rich"


def sizes(server: Serving) -> list[int]:
    """Of the `getbundle` replies so far. Units: bytes."""
    found = re.findall(r'" 200 (\d+) \S+ getbundle ', server.log())
    return [int(size) for size in found]


def place(server: Serving, kind: str) -> str:
    """The path of a bundle of that kind."""
    (line,) = (line for line in lines(server, "rich") if f"-{kind}-".encode() in line)
    return line.split()[0].decode().removeprefix(server.url)


def fetched(server: Serving, kind: str) -> Reply:
    return request(server.address, place(server, kind))


def await_true(wanted: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not wanted():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("options", [(), ("--stream",)])
def test_every_client_clones_by_a_bundle(
    hg: Hg, made: Serving, tmp_path: Path, options: tuple[str, ...]
) -> None:
    clone = tmp_path / "clone"
    said = hg("clone", "--noupdate", *options, f"{made.url}/rich", clone)
    found = APPLIED.search(said)
    assert found is not None, said
    is_inline = hg.version >= (6, 8)
    assert found[1].startswith(b"peer-bundle-cache:" if is_inline else made.url.encode())
    assert (b"-stream-" if options else b"-zstd-") in found[1]
    assert_same(hg, clone, origin(made), without=PUBLISHED)


def test_client_without_zstd_has_one_to_take(made: Serving, tmp_path: Path) -> None:
    preference = "ui.clonebundleprefers=COMPRESSION=gzip"
    said = WARM("clone", "-U", "--config", preference, f"{made.url}/rich", tmp_path / "clone")
    assert b"-gzip-" in said
    verify(WARM, tmp_path / "clone")


def test_who_takes_no_clone_bundle_gets_one_in_the_pull(made: Serving, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    WARM("init", clone)
    WARM("pull", "--config", "ui.clonebundles=no", f"{made.url}/rich", cwd=clone)
    assert sizes(made)[-1] == len(fetched(made, "zstd").body) + len(b"\x04none")
    assert_same(WARM, clone, origin(made), without=(*PUBLISHED, b"bookmark"))


def test_parts_of_a_file_make_the_whole(made: Serving) -> None:
    url = place(made, "zstd")
    whole = request(made.address, url)
    half = len(whole.body) // 2
    tag = str(whole.header("etag"))
    first = request(made.address, url, {"Range": f"bytes=0-{half - 1}"})
    rest = request(made.address, url, {"Range": f"bytes={half}-", "If-Range": tag})
    assert (first.status, rest.status) == (206, 206)
    assert first.body + rest.body == whole.body
    same = request(made.address, url, {"If-None-Match": tag})
    assert (same.status, same.body) == (304, b"")
    head = request(made.address, url, method="HEAD")
    assert (head.status, head.header("content-length")) == (200, str(len(whole.body)))
    made.check_log()


def test_bundles_follow_the_repository(serve_own: Serve, tmp_path: Path) -> None:
    """New ones after it has grown, none of what isn't public."""
    repository, settings = tmp_path / "r", tmp_path / "trunkline.toml"
    settings.write_text(SETTINGS)
    with fresh(WARM.with_config("phases.new-commit=public"), repository) as hg:
        hg.write("a", b"1\n")
        hg.commit("public")
        server = serve_own(repository, "--settings", str(settings))
        get(server.address, "?cmd=capabilities")
        await_true(lambda: lines(server, ""))
        before = lines(server, "")
        hg.write("a", b"2\n")
        hg.commit("public, too")
        get(server.address, "?cmd=heads")
        await_true(lambda: lines(server, "") != before)
        hg.write("a", b"3\n")
        hg("commit", "-m", "draft", "--config", "phases.new-commit=draft")
    pulling = tmp_path / "pulling"
    WARM("init", pulling)
    WARM("pull", "--config", "ui.clonebundles=no", server.url, cwd=pulling)
    assert len(sizes(server)) == 2  # the client has seen that something is missing
    assert_same(WARM, pulling, repository, without=PUBLISHED)
    said = WARM("clone", "-U", server.url, tmp_path / "clone")
    assert b"added 2 changesets" in said
    assert b"added 1 changesets" in said
    assert_same(WARM, tmp_path / "clone", repository, without=PUBLISHED)
