"""Sizes that clients and servers trip over: thousands of heads, a file of 100 MB."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat import sources
from tests.compat.hg import Hg
from tests.compat.history import PUBLISHED, assert_same, nodes, verify
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.compat.warm import WARM

OLD_GETS = ("--config", "experimental.httppostargs=no")


@pytest.mark.parametrize("options", [(), OLD_GETS], ids=["postargs", "headers"])
def test_two_thousand_heads(
    hg: Hg, options: tuple[str, ...], source: Source, serve: Serve, tmp_path: Path
) -> None:
    """`known` and `getbundle` then name thousands of hashes, in a body or in many headers."""
    repository, clone = source("many_heads"), tmp_path / "clone"
    server = serve(repository, *options)
    hg("clone", "--noupdate", "--rev", "30", server.url, clone)
    hg("pull", server.url, cwd=clone)
    local = b"tag: +stem"  # of debugbuilddag, and the source's own
    assert_same(hg, clone, repository, without=[*PUBLISHED, local])
    assert len(nodes(hg, clone, "heads(all())")) == sources.HEADS
    assert b"no changes found" in hg("pull", server.url, cwd=clone)
    assert hg.run("incoming", "--quiet", server.url, cwd=clone, expect=1).out == b""


def test_discovery_with_many_heads_of_the_clients_own(
    hg: Hg, source: Source, serve: Serve, tmp_path: Path
) -> None:
    """The client asks about samples of its own changesets, which the server doesn't know."""
    repository, clone = source("many_heads"), tmp_path / "clone"
    server = serve(repository)
    hg("clone", "--noupdate", "--rev", "1500", server.url, clone)
    with WARM.session(clone) as own:
        for number in range(30):
            own("update", "--clean", str(number % 20))
            own.write(f"own-{number}", b"own\n")
            own.commit(f"own {number}")
    hg("pull", server.url, cwd=clone)
    verify(hg, clone)
    assert set(nodes(hg, clone, "public()")) == set(nodes(WARM, repository))


@pytest.mark.parametrize("how", [(), ("--stream",)], ids=["plain", "stream"])
def test_file_of_100_megabytes(
    hg: Hg, how: tuple[str, ...], source: Source, serve: Serve, tmp_path: Path
) -> None:
    """The older clients once each, by the plain way: a stream's bytes are the same to all."""
    if hg != WARM and how:
        pytest.skip("a stream of it by the installed client only: 100 MB each")
    repository, clone = source("big_file"), tmp_path / "clone"
    hg("clone", "--noupdate", *how, serve(repository).url, clone)
    assert_same(hg, clone, repository, without=PUBLISHED)
