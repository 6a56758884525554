"""A repository that clients push to, and what they are told there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.compat.conftest import Host
from tests.compat.hg import Finished, Hg
from tests.compat.history import verify
from tests.compat.rawhttp import Reply, request
from tests.compat.serving import Serve, Serving
from tests.compat.warm import WARM

# To let everybody push, in the words of each server.
ALLOW = {
    False: ("--allow-write", "anonymous"),
    True: ("--config", "web.push_ssl=no", "--config", "web.allow-push=*"),
}


@dataclass(frozen=True)
class Target:
    """`home` is where clones go, `path` leads to it on a server that has others, `hg` is who looks
    at the repository.
    """

    repository: Path
    server: Serving
    home: Path
    path: str = ""
    hg: Hg = WARM

    @property
    def url(self) -> str:
        return self.server.url + self.path

    def request(
        self,
        query: str,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        body: bytes | None = None,
    ) -> Reply:
        """`query` begins with a slash, or with the `?` of a command."""
        where = self.path + query
        return request(
            self.server.address, where if where[0] == "/" else "/" + where, headers, method, body
        )

    def clone(self, hg: Hg, name: str = "clone") -> Path:
        path = self.home / name
        hg("clone", "--quiet", self.url, path)
        return path

    def nodes(self, revset: str = "all()") -> list[bytes]:
        return self.hg("log", "-r", revset, "-T", "{node}\n", cwd=self.repository).split()

    def shown(self, template: str, revset: str = "all()") -> bytes:
        return self.hg("log", "-r", revset, "-T", template, cwd=self.repository)

    def check(self) -> None:
        """Sound, and nothing is left lying about. Raises: AssertionError."""
        verify(self.hg, self.repository)
        store = self.repository / ".hg/store"
        assert not (store / "journal").exists()
        assert not (store / "lock").is_symlink()
        self.server.check_log()


def make_repository(path: Path, hgrc: str = "") -> Path:
    """Two public changesets."""
    WARM("init", path)
    for name in ("one", "two"):
        commit(WARM, path, name)
    WARM("phase", "--public", "-r", "all()", cwd=path)
    with (path / ".hg/hgrc").open("a") as file:
        file.write(hgrc)
    return path


def start(repository: Path, serve_own: Serve, home: Path, is_stock: bool = False) -> Target:
    return Target(repository, serve_own(repository, *ALLOW[is_stock], stock=is_stock), home)


def hosted(host: Host, home: Path, hgrc: str = "") -> Target:
    """A new repository on the server that is there for all; named as `home` is."""
    repository = make_repository(host.folder / home.name, hgrc)
    return Target(repository, host.server, home, f"/{home.name}")


def served_copies(
    repository: Path, host: Host, serve_own: Serve, home: Path
) -> Iterator[tuple[Path, Target]]:
    """Served by us, then by the stock server, and what each serves."""
    ours, theirs = host.folder / home.name, repository.with_name("stock")
    for path in (ours, theirs):
        shutil.copytree(repository, path, symlinks=True)
    yield ours, Target(ours, host.server, home, f"/{ours.name}")
    yield theirs, start(theirs, serve_own, home, is_stock=True)


def commit(hg: Hg, clone: Path, name: str, *options: str) -> bytes:
    """Its node."""
    (clone / name).write_text(f"{name}\n")
    hg("commit", "-q", "-A", "-m", name, "-d", "0 0", *options, cwd=clone)
    return hg("log", "-r", ".", "-T", "{node}", cwd=clone)


def said(done: Finished) -> bytes:
    return done.out + done.err
