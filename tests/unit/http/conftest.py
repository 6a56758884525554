"""Real repositories, made once for this folder's tests. Nobody writes to `made`."""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from tests.compat.hg import Session
from tests.compat.warm import WARM

BIG_FILE = 8 * 1024 * 1024  # bytes, not compressible: more than a reply's first piece


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """small: two heads; group/deep: one changeset; big: one large file; secretive: hidden."""
    root = tmp_path_factory.mktemp("made")
    small = new(root / "small", "[web]\ndescription = two heads\n")
    commit(small, "a", b"1\n", "first")
    commit(small, "a", b"2\n", "second <b>")
    run(small, "update", "-q", "0")
    commit(small, "b", b"3\n", "third")
    commit(new(root / "group" / "deep"), "a", b"1\n", "only")
    commit(new(root / "secretive", "[web]\nhidden = yes\n"), "a", b"1\n", "only")
    big = new(root / "big")
    commit(big, "blob", random.Random(1).randbytes(BIG_FILE), "big")
    return root


def new(path: Path, hgrc: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(empty(), path)
    if hgrc:
        (path / ".hg" / "hgrc").write_text(hgrc)
    return path


def commit(repository: Path, name: str, data: bytes, message: str) -> str:
    (repository / name).write_bytes(data)
    run(repository, "commit", "-qAm", message, "-u", "Jane Doe <jane@example.org>")
    return run(repository, "log", "-r", ".", "-T", "{node}").decode()


def head(repository: Path) -> str:
    return run(repository, "log", "-r", "tip", "-T", "{node}").decode()


def run(repository: Path, *words: str) -> bytes:
    """By a warm process; but extensions would stay in it."""
    hgrc = repository / ".hg" / "hgrc"
    if hgrc.exists() and "[extensions]" in hgrc.read_text():
        return WARM(*words, cwd=repository)
    return warm()("--cwd", repository, "-R", repository, *words)


@cache
def warm() -> Session:
    session = WARM.session(Path(tempfile.gettempdir()))
    atexit.register(session.close)
    return session


@cache
def empty() -> Path:
    """What `hg init` makes, to be copied."""
    folder = Path(tempfile.mkdtemp(prefix="trunkline-empty-"))
    atexit.register(shutil.rmtree, folder)
    WARM.run("init", folder / "r")
    return folder / "r"
