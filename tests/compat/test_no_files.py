"""A history whose changesets have no file has no manifest either."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.history import nodes
from tests.compat.serving import Serve
from tests.compat.warm import WARM


@pytest.mark.parametrize("option", ["--pull", "--stream"])
def test_clone_of_changesets_without_files(
    hg: Hg, serve_own: Serve, tmp_path: Path, option: str
) -> None:
    source, clone = tmp_path / "source", tmp_path / "clone"
    WARM("init", source)
    WARM("branch", "-q", "empty", cwd=source)
    WARM("commit", "-m", "no file", "-d", "0 0", cwd=source)
    server = serve_own(source)
    hg("clone", option, server.url, clone)
    hg("verify", "-q", cwd=clone)
    assert nodes(hg, clone) == nodes(WARM, source)
    server.check_log()
