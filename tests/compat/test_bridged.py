"""Repositories that the installed Mercurial reads for us: the same to a client, hooks and all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.hg import Hg
from tests.compat.history import PUBLISHED, assert_same, bookmarks, nodes
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.compat.warm import WARM

# The source's local tag shares its line with no other.
LOCAL = [b"tag: +local-tag"]


def configure(repository: Path, text: str) -> None:
    with (repository / ".hg/hgrc").open("a") as file:
        file.write(text)


@pytest.fixture
def hosted(source: Source, host: Host) -> tuple[Path, str]:
    """The same, at the server that all have in common, and its address."""
    repository, url = host.take(source("rich"))
    configure(repository, "[trunkline]\nnative = no\n")
    return repository, url


@pytest.fixture
def bridged(writable: Source) -> Path:
    repository = writable("rich")
    configure(repository, "[trunkline]\nnative = no\n")
    return repository


@pytest.mark.parametrize("how", [(), ("--pull",), ("--stream",)], ids=["plain", "pull", "stream"])
def test_clone_through_the_bridge(
    hg: Hg, how: tuple[str, ...], hosted: tuple[Path, str], tmp_path: Path
) -> None:
    (bridged, url), clone = hosted, tmp_path / "clone"
    said = hg("clone", *how, url, clone)
    assert (b"streaming all changes" in said) == ("--stream" in how)
    assert_same(hg, clone, bridged, without=[*PUBLISHED, *LOCAL])
    assert bookmarks(hg, clone) == bookmarks(WARM, bridged)


@pytest.mark.parametrize("engines", ["zstd", "zlib", "none"])
def test_our_engines_compress_what_the_bridge_gives(
    engines: str, bridged: Path, serve_own: Serve, tmp_path: Path
) -> None:
    server = serve_own(bridged, "--config", f"server.compressionengines={engines}")
    WARM("clone", "--quiet", "--pull", "-U", server.url, tmp_path / "clone")
    assert_same(WARM, tmp_path / "clone", bridged, without=[*PUBLISHED, *LOCAL])
    server.await_log(f" getbundle {engines} ok ")


def test_clone_of_a_treemanifest_repository(
    hg: Hg, source: Source, host: Host, tmp_path: Path
) -> None:
    repository, clone = tmp_path / "trees", tmp_path / "clone"
    trees = WARM.with_config("experimental.treemanifest=1")
    trees("init", repository)
    trees("pull", "--quiet", source("rich"), cwd=repository)
    assert (
        b"treemanifest"
        in (repository / ".hg/store/requires").read_bytes()
        + (repository / ".hg/requires").read_bytes()
    )
    able = hg.with_config("experimental.changegroup3=yes")  # the older ones don't say so unasked
    able("clone", "--quiet", host.take(repository)[1], clone)
    assert_same(hg, clone, repository, without=PUBLISHED)


@pytest.mark.parametrize("how", [(), ("--stream",)], ids=["plain", "stream"])
def test_clone_holds_what_is_visible(
    hg: Hg, how: tuple[str, ...], source: Source, host: Host, tmp_path: Path
) -> None:
    """Of secret and hidden changesets nothing, and no stream, which could not leave them out."""
    (repository, url), clone = host.take(source("drafts")), tmp_path / "clone"
    configure(repository, "[trunkline]\nnative = no\n")
    unseen = nodes(WARM, repository, "secret() or hidden()", hidden=True)
    assert unseen
    said = hg("clone", "--noupdate", *how, url, clone)
    assert b"streaming all changes" not in said
    assert nodes(hg, clone) == nodes(WARM, repository, "not secret()")
    assert not set(nodes(hg, clone, hidden=True)) & set(unseen)
    for node in unseen[:2]:
        done = hg.run("identify", "--rev", node, url, expect=None)
        assert done.status != 0
        assert b"unknown revision '" in done.out + done.err


def test_pull_sees_what_was_committed_meanwhile(
    hg: Hg, hosted: tuple[Path, str], tmp_path: Path
) -> None:
    (bridged, url), clone = hosted, tmp_path / "clone"
    hg("clone", "--quiet", url, clone)
    for number in range(3):
        WARM("bookmark", "--force", "-r", "tip", f"moving-{number}", cwd=bridged)
        WARM("update", "--quiet", "--clean", "tip", cwd=bridged)
        (bridged / "added").write_text(f"{number}\n")
        WARM("commit", "-q", "-A", "-m", f"number {number}", "-d", "0 0", cwd=bridged)
        tip = hg("identify", "--id", "-r", "tip", url).decode().strip()
        assert nodes(WARM, bridged)[-1].startswith(tip)
        hg("pull", "--quiet", cwd=clone)
        assert nodes(hg, clone) == nodes(WARM, bridged)
    assert_same(hg, clone, bridged, without=[*PUBLISHED, *LOCAL])


STEPS: tuple[tuple[str, ...], ...] = (
    ("clone", "--quiet", "-U", "-r", "0", "URL", "CLONE"),
    ("--cwd", "CLONE", "pull", "--quiet"),
    ("--cwd", "CLONE", "pull", "--quiet"),
    ("--cwd", "CLONE", "incoming", "--quiet"),
    ("identify", "URL"),
)


def test_read_hooks_fire_as_often_as_on_the_stock_server(
    hg: Hg, writable: Source, serve_own: Serve, tmp_path: Path
) -> None:
    repository, log = writable("rich"), tmp_path / "log"
    names = ("outgoing", "preoutgoing.a", "listkeys", "prelistkeys.b")
    hooks = "".join(f"{name} = echo {name} $HG_SOURCE $HG_URL >> {log}\n" for name in names)
    configure(repository, f"[hooks]\n{hooks}")
    counts: dict[str, list[list[str]]] = {}
    for kind in ("trunkline", "stock"):
        url = serve_own(repository, stock=kind == "stock").url
        clone = str(tmp_path / f"clone-{kind}")
        for step in STEPS:
            log.write_text("")
            words = [{"URL": url, "CLONE": clone}.get(word, word) for word in step]
            hg.run(*words, expect=None)
            counts.setdefault(kind, []).append(log.read_text().splitlines())
    assert counts["trunkline"] == counts["stock"]
    assert sum(line.startswith("outgoing") for line in counts["trunkline"][1]) == 1


@pytest.mark.parametrize("exchange", ["", "bundle1"], ids=["bundle2", "bundle1"])
def test_a_read_hook_that_forbids_is_told_to_the_user(
    hg: Hg, exchange: str, source: Source, host: Host, tmp_path: Path
) -> None:
    hg = hg.with_config(f"devel.legacy.exchange={exchange}")
    repository, url = host.take(source("rich"))
    configure(repository, "[hooks]\npreoutgoing.never = echo not today >&2; exit 1\n")
    failed = hg.run("clone", url, tmp_path / "clone", expect=None)
    assert failed.status != 0
    assert b"preoutgoing.never hook exited with status 1" in failed.out + failed.err


def test_unchanged_repositories_are_the_same_by_either_way(
    source: Source, bridged: Path, serve: Serve, serve_own: Serve, tmp_path: Path
) -> None:
    native, through = tmp_path / "native", tmp_path / "through"
    WARM("clone", "--quiet", "-U", serve(source("rich")).url, native)
    WARM("clone", "--quiet", "-U", serve_own(bridged).url, through)
    assert_same(WARM, through, native)
