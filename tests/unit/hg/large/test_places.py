"""Where large files are, by requirements and configuration; Mercurial's extensions as oracle."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.compat.hg import ENVIRONMENT
from tests.compat.warm import WARM

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.large.places import largefiles_blobs, lfs_blobs, user_cache

ON = {("extensions", "lfs"): ""}

ORACLE = """
from mercurial import registrar
cmdtable = {}
command = registrar.command(cmdtable)

@command(b"oracle-lfs", [], b"")
def lfs(ui, repo):
    local = repo.svfs.lfslocalblobstore
    for folder in (local.vfs, local.cachevfs):
        ui.write(folder.join(b"0" * 64) + b"\\n")

@command(b"oracle-largefiles", [], b"")
def largefiles(ui, repo):
    from hgext.largefiles import lfutil
    ui.write(lfutil.storepath(repo, b"0" * 40) + b"\\n")
    ui.write(lfutil.usercachepath(repo.ui, b"0" * 40) + b"\\n")
"""


def stock_paths(repository: Path, extension: str) -> list[str]:
    oracle = repository.with_name("oracle.py")
    oracle.write_text(ORACLE)
    hg = WARM.with_config(f"extensions.{extension}=", f"extensions.oracle={oracle}")
    return subprocess.run(
        hg.command("-R", repository, "--config", "extensions.share=", f"oracle-{extension}"),
        env={**ENVIRONMENT, "HOME": "/home/of/the server"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


@pytest.mark.parametrize("is_share", [False, True])
def test_paths_are_those_of_the_extensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_share: bool
) -> None:
    path = tmp_path / "r"
    WARM("init", path)
    if is_share:
        WARM.with_config("extensions.share=")("share", "-U", path, tmp_path / "share")
        path = tmp_path / "share"
    monkeypatch.setenv("HOME", "/home/of/the server")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    lfs = lfs_blobs(str(path), HgConfig(ON))
    assert lfs is not None
    name = "0" * 64
    assert stock_paths(path, "lfs") == [lfs._path(lfs.folder, name), lfs._path(lfs.cache, name)]
    large = largefiles_blobs(str(path), HgConfig())
    name = "0" * 40
    ours = [large._path(large.folder, name), large._path(large.cache, name)]
    assert stock_paths(path, "largefiles") == ours


@pytest.mark.parametrize(
    ("values", "is_served"),
    [
        ({}, False),
        (ON, True),
        ({("extensions", "hgext.lfs"): ""}, True),
        ({("extensions", "lfs"): "!"}, False),
        ({**ON, ("experimental", "lfs.serve"): "no"}, False),
    ],
)
def test_whether_contents_are_served(
    tmp_path: Path, values: dict[tuple[str, str], str], is_served: bool
) -> None:
    (tmp_path / ".hg").mkdir()
    assert (lfs_blobs(str(tmp_path), HgConfig(values)) is not None) == is_served


def test_the_requirement_is_enough(tmp_path: Path) -> None:
    (tmp_path / ".hg").mkdir()
    (tmp_path / ".hg/requires").write_text("store\nlfs\n")
    found = lfs_blobs(str(tmp_path), HgConfig())
    assert found is not None
    assert found.folder == f"{tmp_path}/.hg/store/lfs/objects"


def test_the_cache_can_be_named_or_switched_off(tmp_path: Path) -> None:
    (tmp_path / ".hg").mkdir()
    off = HgConfig({**ON, ("experimental", "lfs.disableusercache"): "yes"})
    found = lfs_blobs(str(tmp_path), off)
    assert found is not None
    assert found.cache == ""
    assert user_cache("lfs", "/r", HgConfig({("lfs", "usercache"): "/c"})) == "/c"
    assert user_cache("lfs", "/r", HgConfig({("lfs", "usercache"): "c"})) == "/r/.hg/c"
