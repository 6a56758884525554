"""The real program: its processes, signals and sockets."""

from __future__ import annotations

import http.client
import json
import logging
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from mercurial import hg
from mercurial import ui as ui_module
from tests.compat.hg import ENVIRONMENT
from tests.compat.rawhttp import whole_body
from tests.compat.serving import Serving, trunkline_command
from tests.compat.warm import WARM
from tests.unit.http.conftest import BIG_FILE, commit, head, new
from tests.unit.http.test_app import copy, getbundle
from tests.unit.liveness import is_alive

from trunkline.config.limits import Limits
from trunkline.config.settings import Server
from trunkline.http.server import FILES_RESERVE, LEAST_CONNECTIONS, LOGGING, UtcFormatter

SECONDS = 60
SIGNAL_SECONDS = 0.3  # until a process has heeded one
Start = Callable[..., Serving]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A server of the test's own; it must end with 0 when told to."""
    with ExitStack() as stack:

        def one(path: Path, *options: str, command: list[str] | None = None) -> Serving:
            words = command or trunkline_command(path, *options)
            server = Serving(words, tmp_path / "server")
            stack.callback(server.stop)
            return server

        yield one


@pytest.fixture(scope="module")
def shared(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server of the folder `made` for tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("shared")
    settings = folder / "s.toml"
    settings.write_text("[limits]\nhead_seconds = 2\nheader_bytes = 10000\n")
    options = ("--workers", "1", "--settings", str(settings))
    server = Serving(trunkline_command(made, *options), folder)
    yield server
    server.stop()


def connect(server: Serving) -> socket.socket:
    host, _, port = server.address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS)


def ask(server: Serving, request: bytes) -> bytes:
    """Everything until the server closes."""
    with connect(server) as wire:
        wire.sendall(request)
        return read_all(wire)


def read_all(wire: socket.socket) -> bytes:
    parts = []
    while data := wire.recv(1 << 20):
        parts.append(data)
    return b"".join(parts)


def read_until_broken(wire: socket.socket) -> bytes:
    try:
        wire.shutdown(socket.SHUT_WR)
        return read_all(wire)
    except OSError:  # refused before it was read to its end
        return b""


def request(target: str, *headers: str, method: str = "GET", close: bool = True) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: hg.example", *headers]
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode()


def children(pid: int) -> list[int]:
    """Worker processes, oldest first."""
    out = subprocess.run(
        ["pgrep", "-P", str(pid), "-f", "spawn_main"], capture_output=True, text=True, check=False
    ).stdout
    return [int(word) for word in out.split()]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it didn't happen"
        time.sleep(0.05)


def test_clones_from_a_folder_and_says_one_line(made: Path, start: Start, tmp_path: Path) -> None:
    server = start(made, "--workers", "2")
    WARM.run("clone", "-q", f"{server.url}/group/deep", tmp_path / "clone")
    assert head(tmp_path / "clone") == head(made / "group" / "deep")
    lines = [line for line in server.log().splitlines() if "listening" in line]
    assert lines == [f"listening on {server.url}"]
    assert len(children(server.pid)) == 2
    server.await_log("getbundle zstd ok")


def test_client_that_may_not_is_told_so_and_asked_for_no_password(
    start: Start, tmp_path: Path
) -> None:
    repository = new(tmp_path / "closed", "[web]\npush_ssl = no\n")
    commit(repository, "a", b"1", "one")
    server = start(repository)
    clone = tmp_path / "clone"
    WARM.run("clone", "-q", server.url, clone)
    commit(clone, "a", b"2", "two")
    told = refusal(clone, "push")
    assert "abort: remote error:\npush not authorized" in told
    assert "password" not in told
    (repository / ".hg" / "hgrc").write_text("[web]\nallow-pull = no\n")
    for words in (["pull"], ["clone", server.url, "other"]):
        assert "abort: authorization failed" in refusal(clone, *words)


def refusal(folder: Path, *words: str) -> str:
    """All that a real client says when it fails; it may ask, and gets no answer."""
    ran = subprocess.run(
        [str(WARM.executable), "--config", "ui.interactive=yes", *words],
        cwd=folder,
        env={name: value for name, value in ENVIRONMENT.items() if name != "HGPLAIN"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 255
    return ran.stdout + ran.stderr


CLONE_PEAK = 250 * 1024 * 1024  # bytes: a worker that packs three files of 20 MB each


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of a process")
def test_memory_of_a_full_clone_is_bounded(start: Start, tmp_path: Path) -> None:
    repository = new(tmp_path / "large")
    for name in ("a", "b", "c"):
        (repository / name).write_bytes(os.urandom(20_000_000))
    WARM.run("commit", "-qAm", "three", "-u", "x", "-d", "0 0", cwd=repository)
    server = start(repository, "--workers", "1")
    host, _, port = server.address.rpartition(":")
    wire = http.client.HTTPConnection(host, int(port), timeout=SECONDS)
    wire.request("GET", "/" + getbundle(repository), headers={"X-HgProto-1": "0.1 0.2 comp=zstd"})
    reply = wire.getresponse()
    size = 0
    while block := reply.read(1 << 20):
        size += len(block)
    wire.close()
    assert size > 60_000_000
    assert max(map(peak, children(server.pid))) < CLONE_PEAK


def peak(pid: int) -> int:
    """The most memory that a process has had at once. Units: bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def test_runs_as_a_module(made: Path, start: Start) -> None:
    command = [sys.executable, "-m", *trunkline_command(made / "small")]
    command[2] = "trunkline"
    server = start(made, command=command)
    assert ask(server, request("/?cmd=heads")).startswith(b"HTTP/1.1 200")


def test_listens_on_ipv6(made: Path, start: Start) -> None:
    program = str(Path(sys.executable).with_name("trunkline"))
    command = [program, "serve", str(made / "small"), "--listen", "[::1]:0", "--workers", "1"]
    server = start(made, command=command)
    assert server.url.startswith("http://[::1]:")
    assert b" 200 " in ask(server, request("/?cmd=heads"))[:20]


def test_listens_on_a_unix_socket(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.sock"
    program = str(Path(sys.executable).with_name("trunkline"))
    command = [program, "serve", str(made / "small"), "--listen", f"unix:{path}"]
    with subprocess.Popen([*command, "--workers", "1"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"listening on unix:{path}\n".encode()
        assert stat.S_IMODE(path.stat().st_mode) == Server().socket_mode
        with socket.socket(socket.AF_UNIX) as wire:
            wire.settimeout(SECONDS)
            wire.connect(str(path))
            wire.sendall(request("/?cmd=heads"))
            assert read_all(wire).startswith(b"HTTP/1.1 200")
        process.terminate()
        assert process.wait(SECONDS) == 0
    assert not path.exists()


def test_stderr_has_utc_as_the_access_log_has() -> None:
    words = dict(LOGGING["formatters"]["line"])
    assert words.pop("()") == f"{UtcFormatter.__module__}.{UtcFormatter.__name__}"
    record = logging.LogRecord("n", logging.ERROR, "", 0, "words", None, None)
    record.created, record.msecs = 0.25, 250
    assert UtcFormatter(**words).format(record) == "1970-01-01T00:00:00.250Z ERROR n: words"


def test_pipelined_requests_are_answered_in_order(made: Path, shared: Serving) -> None:
    asked = ["small", "none", "group/deep", "small"]
    requests = [request(f"/{name}?cmd=heads", close=False) for name in asked[:-1]]
    answer = ask(shared, b"".join([*requests, request(f"/{asked[-1]}?cmd=heads")]))
    statuses = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200, 404, 200, 200]
    assert answer.index(head(made / "small").encode()) < answer.index(
        head(made / "group" / "deep").encode()
    )


def test_expect_100_continue(made: Path, shared: Serving) -> None:
    headers = ["Expect: 100-continue", "Content-Length: 7", "X-HgArgs-Post: 7"]
    with connect(shared) as wire:
        wire.sendall(request("/small?cmd=lookup", *headers, method="POST"))
        assert wire.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.sendall(b"key=tip")
        assert read_all(wire).endswith(f"1 {head(made / 'small')}\n".encode())


def test_bytes_that_are_no_request_make_no_traceback(shared: Serving) -> None:
    for junk in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /\r\n\r\n",
        request("/small?cmd=heads", "Content-Length: x"),
        request("/" + "a" * 70_000),
        request("/", "X: " + "a" * 500_000),
        request("/", *(f"X-HgArg-{number}: a" for number in range(1, 150))),
        request("/\xff%zz?cmd=%zz&%00=\xff"),
        b"GET http://hg.example/small?cmd=heads HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /small?cmd=heads HTTP/1.0\r\n\r\n",
    ]:
        with connect(shared) as wire:
            wire.sendall(junk)
            answer = read_until_broken(wire)
        assert not answer or answer[9:10] in b"24", answer[:100]
    assert b" 200 " in ask(shared, request("/small?cmd=heads"))[:20]
    shared.check_log()


def test_head_of_a_request_past_its_limit(shared: Serving) -> None:
    """With words, unless it is so long that the HTTP library refuses it."""

    def ask_with(size: int) -> bytes:
        return ask(shared, request("/small?cmd=heads", "X: " + "a" * size))

    assert ask_with(8_000)[:12] == b"HTTP/1.1 200"
    answer = ask_with(10_000)
    assert answer[:12] == b"HTTP/1.1 431"
    assert answer.endswith(b"a head of more than 10000 bytes\n")
    assert ask_with(100_000)[:12] == b"HTTP/1.1 431"


def test_head_of_a_request_that_takes_too_long(shared: Serving) -> None:
    with connect(shared) as wire:
        begun = time.monotonic()
        wire.sendall(b"GET /small?cmd=he")
        assert read_all(wire) == b""
        assert 1 < time.monotonic() - begun < 20


def test_hg_goes_on_after_its_idle_connection_was_closed(shared: Serving) -> None:
    """Applying what was pulled takes a client longer than `head_seconds` now and then."""
    peer = hg.peer(ui_module.ui.load(), {}, f"{shared.url}/small".encode())
    try:
        before = peer.heads()
        time.sleep(3)  # head_seconds are 2
        assert peer.heads() == before
        time.sleep(3)
        assert peer.known(before) == [True] * len(before)  # by POST
    finally:
        peer.close()


@pytest.mark.parametrize("body", [b"zz\r\n\r\n", b"5\r\nnodes\r\nQQ\r\n", b"f" * 17 + b"\r\n\r\n"])
def test_malformed_chunks_are_the_clients_fault(shared: Serving, body: bytes) -> None:
    headers = ["X-HgArgs-Post: 100", "Transfer-Encoding: chunked"]
    answer = ask(shared, request("/small?cmd=known", *headers, method="POST") + body)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b"the request's body is malformed, or ends too early\n")


def test_page_names_the_address_where_the_client_names_no_host(shared: Serving) -> None:
    answer = ask(shared, b"GET /small HTTP/1.0\r\n\r\n")
    assert f"hg clone {shared.url}/small".encode() in answer


def test_silent_connections_keep_nobody_out(made: Path, tmp_path: Path, start: Start) -> None:
    settings = tmp_path / "s.toml"
    settings.write_text("[limits]\nrequests = 10\nconnections = 300\n")
    server = start(made / "small", "--workers", "1", "--settings", str(settings))
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connect(server))
        begun = time.monotonic()
        assert b" 200 " in ask(server, request("/?cmd=heads"))[:20]
        assert time.monotonic() - begun < Limits().head_seconds / 2


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (256, 1 << 14, "4096 5120"),
        (256, 2000, f"{2000 - FILES_RESERVE} 2000"),
        (256, 256, f"{LEAST_CONNECTIONS} 256"),
        (8000, 8000, "4096 8000"),
    ],
)
def test_connections_are_bounded_by_open_files(soft: int, hard: int, expected: str) -> None:
    program = (
        "import resource as r; from trunkline.config.limits import Limits; "
        "from trunkline.http.server import connections; "
        f"r.setrlimit(r.RLIMIT_NOFILE, ({soft}, {hard})); "
        "print(connections(Limits()), r.getrlimit(r.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected
    assert ("fewer connections" in done.stderr) == (hard < Limits().connections + FILES_RESERVE)


def test_stderr_that_nobody_reads_stops_nothing(made: Path) -> None:
    """What goes there is lost; an unread pipe takes 64 KiB."""
    command = trunkline_command(made / "small", "--workers", "1")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().split()[-1]
        wire = http.client.HTTPConnection(url.removeprefix("http://"), timeout=SECONDS)
        for _ in range(300):
            wire.request("GET", "/?cmd=heads", headers={"User-Agent": "a" * 500})
            reply = wire.getresponse()
            assert (reply.status, len(reply.read())) == (200, 82)
        wire.close()
        process.terminate()
        assert process.wait(SECONDS) == 0


def test_sighup_goes_on_when_the_logs_folder_is_gone(
    made: Path, start: Start, tmp_path: Path
) -> None:
    folder, settings = tmp_path / "logs", tmp_path / "s.toml"
    folder.mkdir()
    settings.write_text(f'[log]\naccess = "{folder}/access.log"\n')
    server = start(made / "small", "--workers", "1", "--settings", str(settings))
    shutil.rmtree(folder)
    os.kill(server.pid, signal.SIGHUP)
    time.sleep(SIGNAL_SECONDS)
    assert b" 200 " in ask(server, request("/?cmd=heads"))[:20]
    wait_for(lambda: " heads - ok " in server.log())
    assert server.log().count("No such file or directory; it goes to") == 1


def test_sigterm_lets_a_running_reply_end(made: Path, start: Start) -> None:
    server = start(made / "big", "--workers", "1")
    with connect(server) as wire:
        wire.sendall(request("/" + getbundle(made / "big")))
        first = wire.recv(1000)
        os.kill(server.pid, signal.SIGTERM)
        time.sleep(0.5)
        answer = first + read_all(wire)
    assert len(whole_body(answer) or b"") > BIG_FILE
    with pytest.raises(OSError, match=r"refused|reset"):
        ask(server, request("/?cmd=heads"))


def test_sigterm_waits_no_longer_than_it_is_set_to(
    made: Path, tmp_path: Path, start: Start
) -> None:
    settings = tmp_path / "s.toml"
    settings.write_text("[server]\nstop_seconds = 1\n")
    server = start(made / "big", "--workers", "1", "--settings", str(settings))
    with connect(server) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.sendall(request("/" + getbundle(made / "big")))
        wire.recv(1000)
        begun = time.monotonic()
        server.stop()  # asserts status 0
        assert time.monotonic() - begun < 15
    (line,) = [line for line in server.log().splitlines() if "getbundle" in line]
    assert " aborted " in line
    assert 0 < int(line.split('" 200 ')[1].split()[0]) < BIG_FILE


def test_damage_in_the_middle_is_visible_to_the_client(made: Path, shared: Serving) -> None:
    broken = copy(made / "big", made / "damaged")
    target = "/damaged" + getbundle(broken)
    data = broken / ".hg" / "store" / "data" / "blob.d"
    with data.open("r+b") as file:
        file.truncate(BIG_FILE // 2)
    connection = http.client.HTTPConnection(shared.address, timeout=SECONDS)
    connection.request("GET", target)
    reply = connection.getresponse()
    if reply.status == 200:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            reply.read()
        shared.await_log("aborted")
    else:
        assert reply.status == 500
    connection.close()
    shared.await_log(str(data))


def test_damage_is_visible_to_a_client_that_knows_no_chunks(made: Path, shared: Serving) -> None:
    """There the end of the connection is the end of the reply, so it must not be a clean one."""
    broken = new(made / "two-files")
    (broken / "a").write_bytes(os.urandom(2_000_000))
    commit(broken, "b", os.urandom(100_000), "both")
    asked = f"GET /two-files{getbundle(broken)} HTTP/1.0\r\n\r\n".encode()
    assert len(ask(shared, asked)) > 2_000_000
    os.truncate(next((broken / ".hg" / "store" / "data").glob("b.*")), 50_000)
    again = asked[:-2] + b"X-HgProto-1: 0.2 comp=zstd\r\n\r\n"  # no reply that was kept
    with pytest.raises(ConnectionResetError):
        ask(shared, again)
    shared.await_log("aborted")


def test_a_worker_that_dies_is_replaced(made: Path, start: Start) -> None:
    server = start(made / "small", "--workers", "1")
    (old,) = children(server.pid)
    os.kill(old, signal.SIGKILL)
    wait_for(lambda: bool(children(server.pid)) and children(server.pid) != [old])

    def answers() -> bool:
        try:
            return ask(server, request("/?cmd=heads")).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    wait_for(answers)


def test_workers_leave_when_their_parent_is_killed(made: Path, tmp_path: Path) -> None:
    server = Serving(trunkline_command(made / "small", "--workers", "2"), tmp_path / "server")
    workers = children(server.pid)
    assert len(workers) == 2
    server._process.kill()
    server._process.wait(SECONDS)
    wait_for(lambda: not any(is_alive(pid) for pid in workers))


def test_no_child_is_left_after_the_end(tmp_path: Path) -> None:
    """A repository that goes through the bridge has `hg` processes of its own."""
    repository = new(tmp_path / "r", "[hooks]\npreoutgoing = true\n")
    commit(repository, "a", b"1", "one")
    server = Serving(trunkline_command(repository, "--workers", "1"), tmp_path / "server")
    WARM.run("clone", "-q", server.url, tmp_path / "clone")
    (worker,) = children(server.pid)
    out = subprocess.run(["pgrep", "-P", str(worker)], capture_output=True, text=True, check=False)
    processes = [int(word) for word in out.stdout.split()]
    assert processes
    server.stop()
    wait_for(lambda: not any(is_alive(pid) for pid in [worker, *processes]))


def test_log_goes_to_its_file_as_json(made: Path, start: Start, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    settings = tmp_path / "s.toml"
    settings.write_text(f'[log]\naccess = "{log}"\nformat = "json"\n')
    server = start(made / "small", "--settings", str(settings))
    ask(server, request("/?cmd=heads", "User-Agent: test/1"))
    wait_for(lambda: log.exists() and bool(log.read_text()))
    line = json.loads(log.read_text())
    assert (line["command"], line["status"], line["user_agent"]) == ("heads", 200, "test/1")
    assert "heads" not in server.log()


def test_workers_that_cant_start_end_the_program(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "numpy.py").write_text("raise ImportError('no numpy here')\n")
    done = subprocess.run(
        trunkline_command(tmp_path, "--workers", "1"),
        env={**ENVIRONMENT, "PYTHONPATH": str(broken)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "no numpy here" in done.stderr
    assert "crash loop" in done.stderr


def test_sighup_opens_the_log_anew_and_cuts_no_reply(
    made: Path, start: Start, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    settings = tmp_path / "s.toml"
    settings.write_text(f'[server]\nstop_seconds = 1\n[log]\naccess = "{log}"\n')
    server = start(made / "big", "--workers", "1", "--settings", str(settings))
    ask(server, request("/?cmd=heads"))
    old = children(server.pid)
    with connect(server) as wire:
        wire.sendall(request("/" + getbundle(made / "big")))
        first = wire.recv(1000)
        log.rename(tmp_path / "access.log.1")
        os.kill(server.pid, signal.SIGHUP)
        for worker in old:  # a terminal that goes away tells them all
            os.kill(worker, signal.SIGHUP)
        time.sleep(2)  # longer than `stop_seconds`
        answer = first + read_all(wire)
    assert len(whole_body(answer) or b"") > BIG_FILE
    assert children(server.pid) == old
    wait_for(lambda: log.exists() and bool(log.read_text()))
    assert " getbundle zlib ok " in log.read_text()
    assert server.log().splitlines() == [f"listening on {server.url}"]
