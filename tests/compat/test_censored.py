"""A censored revision: each clone holds the tombstone, and is as sound as the source says it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.history import history
from tests.compat.serving import Serve
from tests.compat.warm import WARM

CENSORING = WARM.with_config("extensions.censor=")


@pytest.fixture(scope="module")
def censored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of three revisions, the middle one taken away by `hg censor`."""
    repository = tmp_path_factory.mktemp("censored") / "repository"
    CENSORING("init", repository)
    with CENSORING.session(repository) as work:
        for text in (b"harmless\n", b"never to be read again\n" * 20, b"harmless, too\n"):
            work.write("file", text)
            work.write("other", text[:8])
            work.commit("a step")
        words = ("--tombstone", "by law", "--no-check-heads", "--rev", "1")
        work("censor", *words, repository / "file")
    return repository


def complaints(hg: Hg, repository: Path, *options: str) -> list[bytes]:
    """What `hg verify` finds wrong, its own counts left out."""
    done = hg.run("verify", "--quiet", *options, cwd=repository, expect=None)
    said = (done.out + done.err).splitlines()
    return sorted(line.strip() for line in said if b"censored" in line or b"@" in line)


@pytest.mark.parametrize("how", [("--pull",), ("--stream",)], ids=["pull", "stream"])
def test_clone_is_what_its_source_is(
    hg: Hg, how: tuple[str, ...], censored: Path, serve: Serve, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    hg("clone", "--noupdate", *how, serve(censored).url, clone)
    without = [b"phase"]
    assert history(hg, clone, without=without) == history(WARM, censored, without=without)
    assert complaints(WARM, censored) == [b"file@1: censored file data"]
    assert complaints(WARM, clone) == complaints(WARM, censored)
    for revision, text in ((0, b"harmless\n"), (2, b"harmless, too\n")):
        assert hg("cat", "--rev", str(revision), clone / "file", cwd=clone) == text
    refused = hg.run("cat", "--rev", "1", clone / "file", cwd=clone, expect=None)
    assert refused.status != 0
    assert b"censored" in refused.out + refused.err
    ignoring = hg.with_config("censor.policy=ignore")
    assert ignoring("cat", "--rev", "1", clone / "file", cwd=clone) == b""
    for file in (clone / ".hg/store").rglob("*"):
        assert not file.is_file() or b"never to be read again" not in file.read_bytes()
