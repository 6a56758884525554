"""Real repositories, made once for this folder's tests. Nobody writes to `made`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.compat.hg import INSTALLED

BIG_FILE = 8 * 1024 * 1024  # bytes, not compressible: more than a reply's first piece


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """small: two heads; group/deep: one changeset; big: one large file; secretive: hidden."""
    root = tmp_path_factory.mktemp("made")
    small = new(root / "small", "[web]\ndescription = two heads\n")
    commit(small, "a", b"1\n", "first")
    commit(small, "a", b"2\n", "second <b>")
    INSTALLED.run("update", "-q", "0", cwd=small)
    commit(small, "b", b"3\n", "third")
    commit(new(root / "group" / "deep"), "a", b"1\n", "only")
    commit(new(root / "secretive", "[web]\nhidden = yes\n"), "a", b"1\n", "only")
    big = new(root / "big")
    commit(big, "blob", random.Random(1).randbytes(BIG_FILE), "big")
    return root


def new(path: Path, hgrc: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    INSTALLED.run("init", path)
    if hgrc:
        (path / ".hg" / "hgrc").write_text(hgrc)
    return path


def commit(repository: Path, name: str, data: bytes, message: str) -> str:
    (repository / name).write_bytes(data)
    INSTALLED.run("commit", "-qAm", message, "-u", "Jane Doe <jane@example.org>", cwd=repository)
    return INSTALLED.run("log", "-r", ".", "-T", "{node}", cwd=repository).out.decode()


def head(repository: Path) -> str:
    return INSTALLED.run("log", "-r", "tip", "-T", "{node}", cwd=repository).out.decode()
