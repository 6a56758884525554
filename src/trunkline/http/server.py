"""Granian with our workers: started, watched, announced and stopped."""

from __future__ import annotations

import asyncio
import atexit
import logging
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_ulong
from functools import partial
from multiprocessing.sharedctypes import RawValue
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from typing import TYPE_CHECKING, Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import Server as GranianServer

from trunkline.config.limits import Limits
from trunkline.config.settings import Settings
from trunkline.hg.stock.bridge import interrupt_shared_pool
from trunkline.http.interrupt import Interrupt
from trunkline.http.listen import Address, Claim, is_reachable
from trunkline.http.log_writer import stderr_writer
from trunkline.http.tls import Renewal, server_options
from trunkline.http.worker_signals import heed_once

if TYPE_CHECKING:
    from trunkline.http.app import App

log = logging.getLogger(__name__)

BACKLOG = 2048  # connections that wait to be taken, of all workers
MOST_WORKERS = 4  # by default; more are the operator's choice
FILES_RESERVE = 1024  # files that a worker may have open besides its connections
LEAST_CONNECTIONS = 64
POLL_SECONDS = 0.02
# Three times in a short request a thread wants what another computes with; Python's own 5 ms each
# would add up to 15 ms while a clone is packed.
SWITCH_SECONDS = 0.001
CUT_SIGNAL = signal.SIGUSR1  # from parent to worker: log what is running, and end
CUT_SECONDS = 2.0  # for that


def serve(settings: Settings, claim: Claim, settings_file: str = "") -> None:
    """Until SIGTERM or SIGINT. Raises: SystemExit 1 when workers keep dying."""
    # Spawned workers are the same on every platform, and hold nothing of this process.
    multiprocessing.set_start_method("spawn", force=True)
    count = settings.server.workers or min(MOST_WORKERS, os.cpu_count() or 1)
    turn = RawValue(c_ulong, 0)  # workers read it; no signal could come before they heed it
    ready = multiprocessing.Semaphore(0)
    server = make_server(settings, claim.address, count, turn)
    server.on_startup(partial(start_announcing, claim, ready, count))
    server.on_startup(Renewal(settings.tls, server.replace_workers).start)
    server.main_loop_interrupt.heed_signals()
    try:
        server.serve(
            target_loader=partial(load_app, settings, settings_file, ready, turn),
            wrap_loader=False,
        )
    finally:
        signal.set_wakeup_fd(-1)
        # Python gives signals back to the system before it ends: a second one would kill what
        # has ended well.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)


class Server(GranianServer):  # type: ignore[misc, valid-type, unused-ignore]
    """Granian, that kills no worker which has ended by itself, misses no signal to stop, and at
    SIGHUP tells the workers by `log_turn` to open the access log anew, where Granian's would
    replace them and cut replies that take longer than `stop_seconds`.

    Its own thread for each worker waits for the process as well, and whoever of the two comes
    second finds no child: until the first has told its result, the worker looks alive. Granian
    gives it a millisecond, which a busy machine doesn't, and then says that it "refused to
    gracefully stop".
    """

    workers_kill_timeout: float
    interrupt_signal: bool
    interrupt_children: list[int]
    main_loop_interrupt: Interrupt

    def __init__(self, *arguments: Any, log_turn: c_ulong, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._log_turn = log_turn
        self.main_loop_interrupt = Interrupt(lambda: self.interrupt_signal)

    def signal_handler_reload(self, *_: Any, **__: Any) -> None:
        self._log_turn.value += 1

    def replace_workers(self) -> None:
        """One by one; running replies have `stop_seconds`. From any thread."""
        super().signal_handler_reload()

    def _stop_workers(self) -> None:
        deadline = time.monotonic() + self.workers_kill_timeout
        for worker in self.wrks:
            worker.terminate()
        while any(worker.is_alive() for worker in self.wrks) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        self.workers_kill_timeout = max(deadline - time.monotonic(), POLL_SECONDS)
        super()._stop_workers()
        if self.interrupt_signal:  # who was told to stop as we were hasn't failed
            self.interrupt_children.clear()

    def _spawn_worker(self, *arguments: Any, **named: Any) -> Any:
        worker = super()._spawn_worker(*arguments, **named)
        worker.kill = partial(end, worker, worker.kill)
        return worker


def end(worker: Any, kill: Callable[[], None]) -> None:
    """Kill a worker that had its `stop_seconds`, after it has logged what it leaves unfinished."""
    if worker.is_alive():
        with suppress(ProcessLookupError):
            os.kill(worker.inner.pid, CUT_SIGNAL)
        worker.join(CUT_SECONDS)
    kill()


def make_server(settings: Settings, address: Address, workers: int, log_turn: c_ulong) -> Any:
    where: dict[str, Any] = (
        {"uds": Path(address.path), "uds_permissions": settings.server.socket_mode}
        if address.path
        else {"address": address.host, "port": address.port}
    )
    return Server(
        "trunkline",
        log_turn=log_turn,
        **where,
        interface=Interfaces.ASGI,
        workers=workers,
        websockets=False,
        backlog=BACKLOG,
        # Beyond it Granian takes no connection; our own limit refuses with words before that.
        backpressure=connections(settings.limits),
        # HTTP/2 would need limits of its own, and no client of ours speaks it.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            max_buffer_size=settings.limits.header_bytes,
            header_read_timeout=settings.limits.head_seconds * 1000,
        ),
        log_level=LogLevels.warning,
        log_dictconfig=LOGGING,
        respawn_failed_workers=True,
        **server_options(settings.tls),
        workers_kill_timeout=settings.server.stop_seconds,
    )


def connections(limits: Limits) -> int:
    """How many a worker takes: as many as are set, as far as it may open files. The limit to
    those is raised as far as we need and may.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(limits.connections, limits.requests)
    needed = wanted + FILES_RESERVE
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(OSError, ValueError):  # a system may have a bound of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - FILES_RESERVE)
    if allowed < wanted:
        log.warning("open files are limited to %d: fewer connections than set are taken", soft)
    return max(allowed, LEAST_CONNECTIONS)


def load_app(settings: Settings, settings_file: str, ready: Semaphore, log_turn: c_ulong) -> Any:
    """In a worker, before it takes connections."""
    from trunkline.http.app import App  # here, so that the parent needs no numpy

    heed_once()
    sys.setswitchinterval(SWITCH_SECONDS)
    watch_parent(settings.server.stop_seconds)
    atexit.register(leave)
    app = App(
        settings,
        ready=lambda: begin(app, ready),
        log_turn=lambda: log_turn.value,
        settings_file=settings_file,
    )
    return app


def begin(app: App, ready: Semaphore) -> None:
    """In the event loop, which is about to take connections."""
    asyncio.get_running_loop().add_signal_handler(CUT_SIGNAL, cut, app)
    ready.release()


def cut(app: App) -> None:
    app.log_running()
    interrupt_shared_pool(CUT_SECONDS / 2)
    leave()


def leave() -> None:
    """End a worker before Python is torn down around Granian's threads.

    One that asks for the GIL meanwhile would be ended by CPython inside of Rust, which aborts the
    process with a panic on stderr; seen now and then on a busy machine. All that has to be closed
    has been when `atexit` comes.
    """
    sys.stdout.flush()
    stderr_writer.flush()
    os._exit(0)


def watch_parent(stop_seconds: float) -> None:
    """A worker must not outlive a parent that was killed: it would hold the port for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(stop_seconds)
        os.kill(os.getpid(), CUT_SIGNAL)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def start_announcing(claim: Claim, ready: Semaphore, count: int) -> None:
    threading.Thread(target=announce, args=(claim, ready, count), daemon=True).start()


def announce(
    claim: Claim,
    ready: Semaphore,
    count: int,
    is_open: Callable[[Address], bool] = is_reachable,
) -> None:
    """One line on stdout, when every worker is up and a connection is taken."""
    for _ in range(count):
        ready.acquire()
    while not is_open(claim.address):
        time.sleep(POLL_SECONDS)
    print(f"listening on {claim.address.url}", flush=True)


class WithoutNoise(logging.Filter):
    """Drops what our own log line says better, and advice on the number of workers."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[0] is not None:
            return record.exc_info[0].__name__ != "BrokenReply"
        text = record.getMessage()
        return "BrokenReply" not in text and "number of workers" not in text


class UtcFormatter(logging.Formatter):
    """Times as the access log has them, which may go to stderr, too."""

    converter = staticmethod(time.gmtime)


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"without-noise": {"()": "trunkline.http.server.WithoutNoise"}},
    "formatters": {
        "line": {
            "()": "trunkline.http.server.UtcFormatter",
            "fmt": "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s",
            "datefmt": "%Y-%m-%dT%H:%M:%S",
        },
    },
    "handlers": {
        "stderr": {
            "class": "trunkline.http.log_writer.LogHandler",
            "formatter": "line",
            "filters": ["without-noise"],
        },
    },
    "loggers": {
        "_granian": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "granian.access": {"handlers": [], "level": "WARNING", "propagate": False},
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}
