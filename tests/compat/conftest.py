"""Fixtures of the tests that drive real clients: which `hg`, which server, which repository."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import pytest
from tests.compat import sources
from tests.compat.hg import Hg, older, older_versions
from tests.compat.serving import Serve, Serving, serving
from tests.compat.sources import Source
from tests.compat.warm import WARM, warm

WITHOUT_OLD_HG = "TRUNKLINE_WITHOUT_OLD_HG"


@pytest.fixture(scope="session", params=["installed", *older_versions()])
def hg(request: pytest.FixtureRequest) -> Hg:
    """Each client in turn, kept warm. A missing one is a failure, unless asked to do without."""
    if request.param == "installed":
        return WARM
    client = older(request.param)
    if not client.executable.exists():
        if os.environ.get(WITHOUT_OLD_HG):
            pytest.skip(f"{WITHOUT_OLD_HG} is set: no Mercurial {request.param}")
        pytest.fail(f"Mercurial {request.param} isn't built: run scripts/older-mercurials")
    return warm(client)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the test processes of one run have in common."""
    base = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        base = base.parent
    folder = base / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def source(shared: Path) -> Source:
    """A repository by its builder's name in `sources`, built once a run. Don't write to it."""

    def build_once(name: str) -> Path:
        target = shared / name
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                unfinished = shared / f"{name}.unfinished"
                shutil.rmtree(unfinished, ignore_errors=True)
                sources.BUILDERS[name](unfinished, build_once)
                unfinished.rename(target)
        return target

    return build_once


@pytest.fixture
def writable(source: Source, tmp_path: Path) -> Source:
    """The same repositories, as copies that a test may change."""

    def copy(name: str) -> Path:
        target = tmp_path / f"writable-{name}"
        shutil.copytree(source(name), target, symlinks=True)
        return target

    return copy


@pytest.fixture(scope="session")
def _pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, ...], Serving]]:
    with ExitStack() as stack:
        yield _Pool(stack, tmp_path_factory)


class _Pool(dict[tuple[str, ...], Serving]):
    """Servers by (path, options), started when first asked for, stopped when the run ends."""

    def __init__(self, stack: ExitStack, factory: pytest.TempPathFactory) -> None:
        super().__init__()
        self._stack, self._factory = stack, factory

    def __missing__(self, key: tuple[str, ...]) -> Serving:
        path, *options = key
        folder = self._factory.mktemp("server")
        self[key] = self._stack.enter_context(serving(Path(path), folder, *options))
        return self[key]


@pytest.fixture
def serve(_pool: dict[tuple[str, ...], Serving]) -> Iterator[Serve]:
    """`serve(path, *options)` gives a running server; at the test's end no log holds a traceback.

    One server is kept for each path and options until the run ends, so the repository should be a
    session's own (`source`) or the options rare.
    """
    used: list[Serving] = []

    def start(path: Path, *options: str) -> Serving:
        server = _pool[(str(path), *options)]
        used.append(server)
        return server

    yield start
    for server in used:
        server.check_log()


@dataclass(frozen=True)
class Host:
    """A server that everybody may write to, and the folder of what it serves, for tests that make
    repositories of their own there.
    """

    folder: Path
    server: Serving

    def take(self, repository: Path) -> tuple[Path, str]:
        """A copy of a repository here, under a name that no other has, and its address."""
        copy = self.folder / token_hex(8)
        shutil.copytree(repository, copy, symlinks=True)
        return copy, f"{self.server.url}/{copy.name}"


@pytest.fixture(scope="session")
def _host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    (folder / "repos").mkdir()
    with serving(folder / "repos", folder / "server", "--allow-write", "anonymous") as server:
        yield Host(folder / "repos", server)


@pytest.fixture
def host(_host: Host) -> Iterator[Host]:
    """At the test's end no log holds a traceback."""
    yield _host
    _host.server.check_log()


@pytest.fixture
def serve_own(tmp_path: Path) -> Iterator[Serve]:
    """Like `serve`, for a repository of the test's own: the server ends with the test."""
    with ExitStack() as stack:
        count = iter(range(1000))

        def start(path: Path, *options: str, stock: bool | None = None) -> Serving:
            folder = tmp_path / f"server-{next(count)}"
            how = {} if stock is None else {"stock": stock}
            return stack.enter_context(serving(path, folder, *options, **how))

        yield start
