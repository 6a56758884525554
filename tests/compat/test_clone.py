"""`hg clone` in its many ways, by every client."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.history import (
    PUBLISHED,
    assert_same,
    bookmarks,
    nodes,
    numbered_history,
    verify,
)
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.compat.warm import WARM


@pytest.mark.parametrize(
    "how",
    [(), ("--pull",), ("--noupdate",), ("--stream",)],
    ids=["plain", "pull", "noupdate", "stream"],
)
def test_whole_clone_has_the_same_log(
    hg: Hg, how: tuple[str, ...], source: Source, serve: Serve, tmp_path: Path
) -> None:
    """Revision numbers and order too."""
    repository, clone = source("rich"), tmp_path / "clone"
    said = hg("clone", *how, serve(repository).url, clone)
    assert (b"streaming all changes" in said) == ("--stream" in how)
    verify(hg, clone)
    expected = numbered_history(WARM, repository, PUBLISHED)
    # A local tag is the source's own, and the clone's working copy no concern of the log.
    expected = expected.replace(b"tag:         local-tag\n", b"")
    assert numbered_history(hg, clone, PUBLISHED) == expected
    assert bookmarks(hg, clone) == bookmarks(WARM, repository)


@pytest.mark.parametrize("how", [(), ("--pull",), ("--stream",)], ids=["plain", "pull", "stream"])
def test_clone_of_an_empty_repository(
    hg: Hg, how: tuple[str, ...], source: Source, serve: Serve, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    hg("clone", *how, serve(source("empty")).url, clone)
    verify(hg, clone)
    assert nodes(hg, clone) == []


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--rev", "v1.0"),
        ("--rev", "10"),
        ("--rev", "gr\u00f6\u00dfe/\u6587"),
        ("--rev", "@"),
        ("--rev", "tip"),
        ("--branch", "stable"),
        ("--branch", "closed one"),
        ("--branch", "gr\u00f6\u00dfe/\u6587"),
    ],
)
def test_clone_of_a_part(
    hg: Hg, option: str, name: str, source: Source, serve: Serve, tmp_path: Path
) -> None:
    repository, clone = source("rich"), tmp_path / "clone"
    hg("clone", "--noupdate", option, name, serve(repository).url, clone)
    wanted = f"branch({name!r})" if option == "--branch" else f"'{name}'"
    part = f"::({wanted})"
    assert nodes(hg, clone) == nodes(WARM, repository, part)
    # Tags are counted from the heads that are there, so a part may know fewer.
    assert_same(hg, clone, repository, part, [*PUBLISHED, b"tag", b"bookmark"])


def test_clone_of_one_changeset_by_its_hash_and_by_prefix(
    hg: Hg, source: Source, serve: Serve, tmp_path: Path
) -> None:
    repository = source("rich")
    node = nodes(WARM, repository)[12]
    for length in (40, 12):
        clone = tmp_path / f"clone-{length}"
        hg("clone", "--noupdate", "--rev", node[:length], serve(repository).url, clone)
        assert nodes(hg, clone, "heads(all())") == [node]
        assert_same(hg, clone, repository, f"::{node}", [*PUBLISHED, b"tag", b"bookmark"])


def test_clone_and_update_to_a_revision(
    hg: Hg, source: Source, serve: Serve, tmp_path: Path
) -> None:
    """Every file is what the source says, byte by byte, names too."""
    repository, clone = source("rich"), tmp_path / "clone"
    hg("clone", "--updaterev", "stable", serve(repository).url, clone)
    assert hg("branch", cwd=clone).strip() == b"stable"
    expected = WARM("manifest", "--debug", "--rev", "stable", cwd=repository)
    assert hg("manifest", "--debug", cwd=clone) == expected
    assert hg("status", cwd=clone) == b""


def test_unknown_revision_is_told(hg: Hg, source: Source, serve: Serve, tmp_path: Path) -> None:
    done = hg.run(
        "clone", "--rev", "no-such", serve(source("rich")).url, tmp_path / "clone", expect=None
    )
    assert done.status != 0
    assert b"unknown revision 'no-such'" in done.out + done.err


def test_no_repository_is_told(hg: Hg, source: Source, serve: Serve, tmp_path: Path) -> None:
    done = hg.run("clone", serve(source("rich")).url + "/bad", tmp_path / "clone", expect=None)
    assert done.status != 0
    assert b"404" in done.err, done.err
