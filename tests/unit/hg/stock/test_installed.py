from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from trunkline.errors import StoreError
from trunkline.hg.stock.installed import child_environment, find_hg


def program(folder: Path, name: str = "hg") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_finds_hg_beside_python_before_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = program(tmp_path / "bin")
    program(tmp_path / "other")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    assert find_hg() == beside


def test_finds_hg_in_path_where_python_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = program(tmp_path / "other")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    assert find_hg() == other


def test_finds_the_named_one(tmp_path: Path) -> None:
    named = program(tmp_path, "hg7")
    assert find_hg(named) == named


def test_says_one_clear_line_when_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match="Mercurial is missing: no `hg` beside Python or in PATH"):
        find_hg()
    with pytest.raises(StoreError, match=r"no program at '/no/hg'"):
        find_hg("/no/hg")


def test_environment_is_plain_and_utf8_and_keeps_the_operators_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HGRCPATH", "/etc/site.rc")
    monkeypatch.setenv("REMOTE_USER", "somebody of another request")
    environment = child_environment()
    assert (environment["HGPLAIN"], environment["HGENCODING"]) == ("1", "utf-8")
    assert environment["HGRCPATH"] == "/etc/site.rc"
    assert "REMOTE_USER" not in environment
    assert os.environ["REMOTE_USER"]
