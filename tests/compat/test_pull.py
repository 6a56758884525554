"""Pulling, comparing and asking: what a client does every day after its clone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.hg import Hg
from tests.compat.history import assert_same, bookmarks, nodes, verify
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.compat.warm import WARM

PUBLISHED = [b"phase"]


@pytest.fixture
def url(source: Source, serve: Serve) -> str:
    return serve(source("rich")).url


@pytest.fixture
def repository(source: Source) -> Path:
    return source("rich")


def test_pull_in_many_steps(hg: Hg, url: str, repository: Path, tmp_path: Path) -> None:
    """From nothing to everything, a few changesets at a time, heads in odd orders."""
    hg("init", tmp_path / "clone")
    clone = tmp_path / "clone"
    for step in (0, 3, 17, 36, 35, 33, 44, 40):
        hg("pull", "--rev", str(step), url, cwd=clone)
        expected = nodes(WARM, repository, str(step))
        assert nodes(hg, clone, expected[0]) == expected
    hg("pull", url, cwd=clone)
    said = hg("pull", url, cwd=clone)
    assert b"no changes found" in said
    assert_same(hg, clone, repository, without=[*PUBLISHED, b"bookmark", b"tag"])


def test_pull_over_the_clients_own_changesets(
    hg: Hg, url: str, repository: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    hg("clone", "--rev", "10", url, clone)
    (clone / "own").write_bytes(b"own\n")
    hg("commit", "--addremove", "--message", "own", cwd=clone)
    hg("pull", url, cwd=clone)
    verify(hg, clone)
    assert set(nodes(hg, clone, "not draft()")) == set(nodes(WARM, repository))
    assert len(nodes(hg, clone, "draft()")) == 1


def test_unrelated_repository_is_refused(hg: Hg, url: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    hg("init", other)
    (other / "x").write_bytes(b"x")
    hg("commit", "--addremove", "--message", "another root", cwd=other)
    done = hg.run("pull", url, cwd=other, expect=None)
    assert b"repository is unrelated" in done.err
    hg("pull", "--force", url, cwd=other)
    verify(hg, other)
    assert len(nodes(hg, other, "roots(all())")) == 2


def test_incoming_lists_what_pull_would_bring(
    hg: Hg, url: str, repository: Path, tmp_path: Path
) -> None:
    clone, bundle = tmp_path / "clone", tmp_path / "incoming.hg"
    hg("clone", "--rev", "10", url, clone)
    out = hg("incoming", "--template", "{node}\n", "--bundle", bundle, url, cwd=clone)
    found = [line for line in out.decode().split() if len(line) == 40]
    assert found == nodes(WARM, repository, "all() - ::10")
    hg("unbundle", bundle, cwd=clone)
    verify(hg, clone)
    assert len(nodes(hg, clone)) == len(nodes(WARM, repository))


def test_incoming_of_a_branch_and_a_revision(hg: Hg, url: str, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    hg("clone", "--rev", "10", url, clone)
    by_branch = hg("incoming", "--quiet", "--branch", "stable", url, cwd=clone)
    by_rev = hg("incoming", "--quiet", "--rev", "stable", url, cwd=clone)
    assert by_branch
    assert set(by_rev.splitlines()) <= set(by_branch.splitlines())


@pytest.mark.parametrize(
    "name",
    ["", "tip", "v1.0", "@", "stable", "gr\u00f6\u00dfe/\u6587", "null", "5", "feature/\u00fc"],
)
def test_identify(hg: Hg, url: str, repository: Path, name: str) -> None:
    options = ("--rev", name) if name else ()
    node = remote_id(hg, url, *options)
    if name == "null":
        assert node == "0" * 40
    else:
        assert [node] == nodes(WARM, repository, f"'{name or 'tip'}'")


def remote_id(hg: Hg, url: str, *options: str) -> str:
    """The whole hash; `--debug`, which asks for it, prints the exchange around it."""
    out = hg("identify", "--debug", "--id", *options, url)
    (node,) = re.findall(rb"^([0-9a-f]{40})$", out, re.MULTILINE)
    return bytes(node).decode()


def test_identify_shows_bookmarks(hg: Hg, url: str) -> None:
    assert hg("identify", "--bookmarks", "--rev", "@", url).strip() == b"@"


def test_bookmarks_are_pulled_and_compared(
    hg: Hg, url: str, repository: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    hg("init", clone)
    hg("pull", "--bookmark", "feature/\u00fc", url, cwd=clone)
    theirs = bookmarks(WARM, repository)
    name = "feature/\u00fc".encode()
    ours = bookmarks(hg, clone)
    assert ours[name] == theirs[name]
    assert b"@" not in ours
    assert b"@" in hg("incoming", "--bookmarks", url, cwd=clone)
    done = hg.run("pull", "--bookmark", "no-such", url, cwd=clone, expect=None)
    assert b"remote bookmark no-such not found" in done.out + done.err


def test_pull_follows_the_sources_growth(
    hg: Hg, source: Source, host: Host, tmp_path: Path
) -> None:
    """Each commit, tag, bookmark move and merge at the source is there at the next pull."""
    (repository, url), clone = host.take(source("rich")), tmp_path / "clone"
    hg("clone", "--noupdate", url, clone)
    with WARM.session(repository) as work:
        work("update", "default")
        for step in range(4):
            work.write("grows", b"%d\n" % step)
            work.commit(f"grown {step}")
            work("bookmark", "--force", "--rev", ".", "@")
            if step == 2:
                work("tag", "grown")
            hg("pull", cwd=clone)
            assert nodes(hg, clone, "tip") == nodes(WARM, repository, "tip")
            assert bookmarks(hg, clone)[b"@"] == bookmarks(WARM, repository)[b"@"]
    assert_same(hg, clone, repository, without=[*PUBLISHED, b"tag"])


def test_strip_at_the_source_is_seen(hg: Hg, source: Source, host: Host, tmp_path: Path) -> None:
    (repository, url), clone = host.take(source("rich")), tmp_path / "clone"
    before = nodes(WARM, repository, "tip")
    assert [remote_id(hg, url)] == before
    strip = WARM.with_config("extensions.strip=")
    strip("strip", "--no-backup", "--rev", "tip", cwd=repository)
    hg("clone", "--noupdate", url, clone)
    assert_same(hg, clone, repository, without=[*PUBLISHED, b"tag"])
    assert before[0] not in nodes(hg, clone)
