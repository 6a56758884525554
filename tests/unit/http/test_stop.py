"""Signals that come more than once, together, or to all processes of a group."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.compat.rawhttp import whole_body
from tests.compat.serving import Serving, trunkline_command
from tests.unit.http.conftest import BIG_FILE
from tests.unit.http.test_app import getbundle
from tests.unit.http.test_server import children, connect, read_all, request

from trunkline.http.interrupt import Interrupt

SECONDS = 15  # well below stop_seconds


def start(path: Path, folder: Path) -> Serving:
    return Serving(trunkline_command(path, "--workers", "1"), folder)


def begin(server: Serving, repository: Path) -> tuple[socket.socket, bytes]:
    """A running reply, and what came of it."""
    wire = connect(server)
    wire.sendall(request("/" + getbundle(repository)))
    return wire, wire.recv(1000)


def end_of(server: Serving) -> int:
    try:
        return server._process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        server._process.kill()
        raise


WAITING = """
import signal, subprocess, threading
from trunkline.http.interrupt import Interrupt
interrupt = Interrupt(lambda: False)
interrupt.heed_signals()
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: print("heeded", flush=True))
child = subprocess.Popen(["sleep", "30"])
threading.Thread(target=child.wait, daemon=True).start()
print("ready", flush=True)
interrupt.wait()
child.kill()
"""


def test_two_signals_together_are_not_lost() -> None:
    """The kernel may give both to a thread that isn't the main one, which then waits on."""
    for _ in range(12):
        command = [sys.executable, "-c", WAITING]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(0.1)
            os.kill(process.pid, signal.SIGINT)
            os.kill(process.pid, signal.SIGTERM)
            try:
                assert b"heeded\n" in process.communicate(timeout=SECONDS)[0]
            finally:
                process.kill()


def test_two_signals_together_end_the_server(made: Path, tmp_path: Path) -> None:
    server = start(made / "small", tmp_path)
    os.kill(server.pid, signal.SIGINT)
    os.kill(server.pid, signal.SIGTERM)
    assert end_of(server) == 0


def test_many_signals_hold_up_no_reply(made: Path, tmp_path: Path) -> None:
    """Granian's channel takes two; the third would stop the event loop."""
    server = start(made / "big", tmp_path)
    (worker,) = children(server.pid)
    wire, first = begin(server, made / "big")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTERM, signal.SIGTERM):
        os.kill(worker, number)
        os.kill(server.pid, number)
        time.sleep(0.1)
    reply = first + read_all(wire)
    wire.close()
    assert len(whole_body(reply) or b"") > BIG_FILE
    assert end_of(server) == 0
    assert "ERROR" not in server.log()


def test_a_worker_heeds_no_ctrl_c_of_the_terminal(made: Path, tmp_path: Path) -> None:
    """It would seem to have died, if it ended before its parent has taken notice."""
    server = start(made / "small", tmp_path)
    (worker,) = children(server.pid)
    os.kill(worker, signal.SIGINT)
    time.sleep(0.5)
    assert children(server.pid) == [worker]
    os.kill(server.pid, signal.SIGINT)
    assert end_of(server) == 0


def test_an_interrupt_to_stop_is_not_cleared() -> None:
    stop = [False]
    interrupt = Interrupt(lambda: stop[0])
    interrupt.set()
    interrupt.wait()
    stop[0] = True
    interrupt.clear()
    interrupt.wait()
    for _ in range(100_000):  # more than the pipe takes
        interrupt.set()
    interrupt.wait()
