"""Repositories made by the installed Mercurial, and a pool that ends with its test."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.hg import Session
from tests.compat.warm import WARM

from trunkline.hg.stock.configuration import close_readers
from trunkline.hg.stock.pool import Limits, Pool

HG = os.path.join(os.path.dirname(sys.executable), "hg")
_sessions: list[Session] = []


def warm_hg() -> Session:
    """One process for all that tests write: a start of `hg` costs more than most commands."""
    if not _sessions:
        _sessions.append(WARM.session(Path("/")))
    return _sessions[0]


@pytest.fixture(scope="session", autouse=True)
def _no_configuration_of_the_user() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HGRCPATH", "")
        yield
        close_readers()
        while _sessions:
            _sessions.pop().close()


class Repository:
    """One repository that tests write to with the real `hg`."""

    def __init__(self, root: Path, *config: str, copied_from: Path | None = None) -> None:
        self.root = root
        self._config = [word for setting in config for word in ("--config", setting)]
        root.parent.mkdir(parents=True, exist_ok=True)
        if copied_from is None:
            self.hg("init", str(root))
        else:
            shutil.copytree(copied_from, root)

    def hg(self, *arguments: str) -> bytes:
        """What a command prints. Raises: HgFailed unless it succeeds."""
        where = [] if arguments[0] == "init" else ["-R", str(self.root)]
        return warm_hg()(*where, *self._config, *arguments)

    def commit(self, name: str, text: str = "text\n") -> bytes:
        """The new changeset, 40 hex digits."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.hg("commit", "-A", "-m", f"add {name}", "-d", "0 0")
        return self.heads()[0]

    def heads(self) -> list[bytes]:
        return self.hg("heads", "-T", "{node}\n").split()

    def configure(self, text: str) -> None:
        (self.root / ".hg" / "hgrc").write_text(text)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be copied, which is cheaper than a run of `hg`."""
    return Repository(tmp_path_factory.mktemp("empty") / "repository").root


@pytest.fixture
def repository(empty: Path, tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository", copied_from=empty)


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool(Limits(processes=6, processes_per_repository=3, wait_seconds=20.0))
    yield pool
    pool.close()
    assert not pool.pids
