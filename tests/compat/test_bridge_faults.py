"""What a client sees when an `hg` behind the bridge is killed, hangs or can't be started."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.compat.hg import ENVIRONMENT
from tests.compat.rawhttp import Reply, get, whole_body
from tests.compat.serving import Serve, Serving
from tests.compat.warm import WARM
from tests.unit.liveness import await_end

SECONDS = 60
BIG = 12_000_000  # bytes that don't pack: more than pipes and sockets take on the way
SLOW_HOOK = "[hooks]\nprelistkeys.slow = sleep 60\n"
PHASES = "?cmd=listkeys&namespace=phases"


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A bridged repository of one large file."""
    repository = tmp_path / "big"
    WARM("init", repository)
    (repository / "noise").write_bytes(random.Random(4).randbytes(BIG))
    WARM("commit", "-q", "-A", "-m", "noise", cwd=repository)
    configure(repository, "")
    return repository


def configure(repository: Path, text: str) -> None:
    (repository / ".hg/hgrc").write_text("[trunkline]\nnative = no\n" + text)


@pytest.fixture
def server(big: Path, serve_own: Serve) -> Serving:
    return serve_own(big)


def children(pid: int, word: str) -> list[int]:
    """Processes below `pid` with `word` in their command line."""
    said = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in said.splitlines()]
    below, found = {pid}, []
    for _ in rows:
        more = {int(row[0]) for row in rows if int(row[1]) in below} - below
        if not more:
            break
        below |= more
    for row in rows:
        if int(row[0]) in below - {pid} and word in row[-1]:
            found.append(int(row[0]))
    return found


def bridged(server: Serving) -> list[int]:
    return children(server.pid, "debugtrunkline")


def wait_for(find: Callable[[], list[int]]) -> list[int]:
    deadline = time.monotonic() + SECONDS
    while not (found := find()):
        assert time.monotonic() < deadline, "it didn't happen"
        time.sleep(0.05)
    return found


def begin(server: Serving, query: str) -> socket.socket:
    host, _, port = server.address.rpartition(":")
    wire = socket.create_connection((host, int(port)), timeout=SECONDS)
    wire.sendall(f"GET /{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    return wire


def rest(wire: socket.socket) -> bytes:
    """What comes until the connection ends, broken or not."""
    parts: list[bytes] = []
    try:
        while data := wire.recv(1 << 20):
            parts.append(data)
    except ConnectionResetError:
        pass
    wire.close()
    return b"".join(parts)


def assert_one_line(server: Serving, reply: bytes) -> None:
    """A 5xx in one line that names no path."""
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 500 ")
    assert body == b"the repository can't be read; the server's log says why\n"
    assert "Traceback" not in server.log()


def assert_answers(server: Serving) -> Reply:
    reply = get(server.address, "?cmd=heads")
    assert (reply.status, len(reply.body)) == (200, 41)
    return reply


def getbundle(repository: Path) -> str:
    tip = WARM("log", "-r", "tip", "-T", "{node}", cwd=repository).decode()
    return f"?cmd=getbundle&heads={tip}&common={'0' * 40}"


def test_one_killed_while_idle_is_not_noticed(server: Serving) -> None:
    before = assert_answers(server)
    for pid in wait_for(lambda: bridged(server)):
        os.kill(pid, signal.SIGKILL)
    assert assert_answers(server).body == before.body
    assert " 500 " not in server.log()


def test_one_killed_while_it_answers_is_one_clear_line(big: Path, server: Serving) -> None:
    """Its hook lives on and holds the pipes."""
    configure(big, SLOW_HOOK)
    wire = begin(server, PHASES)
    hooks = wait_for(lambda: children(server.pid, "sleep 60"))
    start = time.monotonic()
    for pid in bridged(server):
        os.kill(pid, signal.SIGKILL)
    assert_one_line(server, rest(wire))
    assert time.monotonic() - start < 20
    server.await_log("status -9")
    for pid in hooks:
        os.kill(pid, signal.SIGKILL)
    configure(big, "")
    assert_answers(server)


def test_one_killed_in_mid_stream_breaks_the_connection(big: Path, server: Serving) -> None:
    wire = begin(server, getbundle(big))
    first = wire.recv(1000)
    for pid in wait_for(lambda: bridged(server)):
        os.kill(pid, signal.SIGKILL)
    reply = first + rest(wire)
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert whole_body(reply) is None
    server.await_log("broken after")
    server.await_log(" aborted ")
    assert_answers(server)


def test_killed_again_and_again_under_load(big: Path, server: Serving) -> None:
    """Whole or visibly broken, each of them; and then the server is as before."""
    query, statuses = getbundle(big), set[str]()
    for round_ in range(8):
        wire = begin(server, query)
        time.sleep(0.05 * round_)
        for pid in bridged(server):
            os.kill(pid, signal.SIGKILL)
        reply = rest(wire)
        body = whole_body(reply)
        if reply.startswith(b"HTTP/1.1 200 "):
            statuses.add("broken" if body is None else "whole")
            assert body is None or len(body) > BIG
        else:
            assert_one_line(server, reply)
            statuses.add("refused")
    assert statuses - {"whole"}
    assert_answers(server)


def test_a_client_in_mid_pull_is_told(big: Path, server: Serving, tmp_path: Path) -> None:
    clone = [*WARM.command("clone", "-q", "-U", server.url, tmp_path / "clone")]
    configure(big, "[hooks]\noutgoing = sleep 60\n")
    with subprocess.Popen(clone, stderr=subprocess.PIPE) as client:
        hooks = wait_for(lambda: children(server.pid, "sleep 60"))
        for pid in [*bridged(server), *hooks]:
            os.kill(pid, signal.SIGKILL)
        _, words = client.communicate(timeout=SECONDS)
    assert client.returncode == 255
    assert re.search(rb"^abort: HTTP (request )?error", words, re.MULTILINE), words


@pytest.mark.parametrize("query", [PHASES, "getbundle"])
def test_what_hangs_at_the_stop_is_cut_off_with_its_processes(
    query: str, big: Path, serve_own: Serve, tmp_path: Path
) -> None:
    """Stopped by SIGSTOP, with a hook that would run on: nothing is left behind."""
    settings = tmp_path / "s.toml"
    settings.write_text("[server]\nstop_seconds = 2\n")
    server = serve_own(big, "--settings", str(settings))
    configure(big, "[hooks]\nprelistkeys = sleep 60\npreoutgoing = sleep 60\n")
    wire = begin(server, getbundle(big) if query == "getbundle" else query)
    hooks = wait_for(lambda: children(server.pid, "sleep 60"))
    below = children(server.pid, "")
    for pid in [*hooks, *bridged(server)]:
        os.kill(pid, signal.SIGSTOP)
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 20
    assert rest(wire) == b""
    for pid in below:
        await_end(pid)


def test_stopped_ones_that_are_idle_hold_up_no_stop(big: Path, serve_own: Serve) -> None:
    server = serve_own(big)
    assert_answers(server)
    wait_for(lambda: bridged(server))
    below = children(server.pid, str(WARM.executable))
    for pid in below:
        os.kill(pid, signal.SIGSTOP)
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 20
    for pid in below:
        await_end(pid)


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has what ours has, without an `hg` beside it."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text("\n".join(path for path in sys.path if path))
    return folder / "bin/python"


def serve_command(python: Path, programs: Path, served: Path) -> list[str]:
    words = ["-m", "trunkline", "serve", str(served), "--listen", "127.0.0.1:0", "--workers", "1"]
    return ["env", f"PATH={programs}:/usr/bin:/bin", str(python), *words]


def test_without_hg_the_start_is_one_clear_line(bare_python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        serve_command(bare_python, tmp_path, tmp_path),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("trunkline: Mercurial is missing: ")
    assert done.stderr.count("\n") == 1


def test_hg_that_goes_away_and_comes_back(big: Path, bare_python: Path, tmp_path: Path) -> None:
    """Who needs none is served on; the rest is one clear line until it is back."""
    served, program = tmp_path / "served", tmp_path / "bin/hg"
    for folder in (served, program.parent):
        folder.mkdir()
    big.rename(served / "big")
    for name in ("native", "other"):
        WARM("init", served / name)
    program.symlink_to(WARM.executable)
    command = serve_command(bare_python, program.parent, served)
    server = Serving(command, tmp_path / "server")

    def statuses() -> list[int]:
        names = ("native", "big", "other")
        return [get(server.address, f"{name}?cmd=heads").status for name in names]

    try:
        for name in ("native", "big"):
            assert get(server.address, f"{name}?cmd=heads").status == 200
        program.rename(tmp_path / "away")
        for pid in children(server.pid, str(program)):
            os.kill(pid, signal.SIGKILL)
        assert statuses() == [200, 500, 500]
        server.await_log("can't start Mercurial: ")
        (tmp_path / "away").rename(program)
        assert statuses() == [200, 200, 200]
    finally:
        server.stop()
