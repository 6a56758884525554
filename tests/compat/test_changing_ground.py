"""A repository that goes away or becomes another one while it is served; many clones of one.

A reply that runs is whole and right, or visibly broken; the next request is answered by what
is there then.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.compat.history import verify
from tests.compat.rawhttp import get, whole_body
from tests.compat.serving import Serve, Serving
from tests.compat.warm import WARM

FILES, FILE_BYTES = 8, 2_000_000  # far more than sockets and the server hold of a reply
CAPS = "bundlecaps=HG20,bundle2%3Dchangegroup%253D02%250Astream%253Dv2"
ASKS = {
    "getbundle": f"getbundle&cg=1&{CAPS}",
    "stream": f"getbundle&stream=1&cg=0&{CAPS}",
    "stream_out": "stream_out",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is served. `heavy` in it is what doesn't compress, in an old form."""
    root = tmp_path_factory.mktemp("root")
    path = root / "heavy"
    noise = random.Random(5)
    WARM("init", "--config", "format.dotencode=no", path)
    for number in range(FILES):
        (path / f"file{number}").write_bytes(noise.randbytes(FILE_BYTES))
    (path / "small").write_bytes(b"1\n")
    WARM("commit", "-qAm", "heavy", cwd=path)
    return root


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("other") / "r"
    WARM("init", path)
    (path / "else").write_bytes(b"else\n")
    WARM("commit", "-qAm", "another", cwd=path)
    return path


def heads(path: Path) -> bytes:
    return WARM("log", "-r", "tip", "-T", "{node}\n", cwd=path)


class Asking:
    """One request, whose reply is read as slowly as the test likes."""

    def __init__(self, server: Serving, name: str, ask: str) -> None:
        host, _, port = server.address.partition(":")
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self._socket.settimeout(60)
        self._socket.connect((host, int(port)))
        head = f"GET /{name}?cmd={ask} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        self._socket.sendall(head.encode() + b"X-HgProto-1: 0.1 0.2 comp=none\r\n\r\n")
        self._parts = [self._socket.recv(1 << 16)]

    def rest(self) -> bytes | None:
        """The whole body; None: the reply was broken off."""
        with self._socket:
            try:
                while part := self._socket.recv(1 << 20):
                    self._parts.append(part)
            except ConnectionError:
                return None
        return whole_body(b"".join(self._parts))


def delete(path: Path, _: Path) -> None:
    shutil.rmtree(path)


def replace(path: Path, other: Path) -> None:
    """By another one, moved to its place."""
    path.rename(path.with_name(f"{path.name}-gone"))
    shutil.copytree(other, path)


def refill(path: Path, other: Path) -> None:
    """The `.hg` folder stays; what is in it is another repository."""
    shutil.rmtree(path / ".hg/store")
    shutil.copytree(other / ".hg/store", path / ".hg/store")
    shutil.copy(other / ".hg/requires", path / ".hg/requires")


def upgrade(path: Path, _: Path) -> None:
    WARM("debugupgraderepo", "--run", "--no-backup", "-q", cwd=path)


EVENTS = (delete, replace, refill, upgrade)


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("event", EVENTS)
def test_reply_that_runs_is_right_or_broken_and_the_next_is_of_now(
    event: Callable[[Path, Path], None],
    ask: str,
    root: Path,
    other: Path,
    serve: Serve,
    tmp_path: Path,
) -> None:
    name = f"{event.__name__}-{ask}"
    path = root / name
    shutil.copytree(root / "heavy", path, symlinks=True)
    server = serve(root)
    right = Asking(server, "heavy", ASKS[ask]).rest()
    assert right is not None
    running = Asking(server, name, ASKS[ask])
    event(path, other)
    found = running.rest()
    assert found is None or found == right
    reply = get(server.address, f"{name}?cmd=heads")
    if event is delete:
        assert reply.status == 404
    else:
        assert (reply.status, reply.body) == (200, heads(path))
        WARM("clone", "-qU", f"{server.url}/{name}", tmp_path / "clone")
        verify(WARM, tmp_path / "clone")


CLONES = 30
MEMORY = 400  # MiB of the worker, at most: 70 at rest, and what 30 replies hold


@pytest.mark.parametrize("ask", ["getbundle", "stream"])
def test_many_clones_at_once_are_all_the_same_and_take_little_memory(
    ask: str, root: Path, serve: Serve
) -> None:
    server = serve(root)
    right = Asking(server, "heavy", ASKS[ask]).rest()
    assert right is not None
    peak = Peak(server.pid)
    with ThreadPoolExecutor(CLONES) as pool, peak:
        digest = hashlib.sha256(right).digest()

        def clone(_: int) -> bool:
            found = Asking(server, "heavy", ASKS[ask]).rest()
            return found is not None and hashlib.sha256(found).digest() == digest

        assert all(pool.map(clone, range(CLONES)))
    assert peak.mebibytes < MEMORY


class Peak:
    """The memory of a server's largest process, looked at all the while."""

    def __init__(self, pid: int) -> None:
        self._pid, self._stop = pid, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.mebibytes = 0

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            said = subprocess.run(
                ["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=True
            ).stdout
            for pid, parent, kibibytes in (map(int, row.split()) for row in said.splitlines()):
                if self._pid in (pid, parent):
                    self.mebibytes = max(self.mebibytes, kibibytes // 1024)
