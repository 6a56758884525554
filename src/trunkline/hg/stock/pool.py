"""Warm `hg` processes that serve one repository each: how many, for whom, for how long."""

from __future__ import annotations

import contextlib
import importlib.resources
import threading
import time
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import ClientGone, PeerError, StoreError, TrunklineError
from trunkline.hg.stock.caller import Caller
from trunkline.hg.stock.configuration import config_reader
from trunkline.hg.stock.installed import child_environment, find_hg
from trunkline.hg.stock.process import LOOK_SECONDS, Process
from trunkline.hg.stock.stdio import StdioServer
from trunkline.work import Work

CLOSE_SECONDS = 5.0  # for processes to end by themselves when their stdin is closed
POLL_SECONDS = 0.02

# Given before the operator's own overrides, so those win.
_CONFIG = (
    "ui.interactive=no",
    "ui.detailed-exit-code=yes",
    "ui.report_untrusted=no",  # as hgweb has it
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Of the processes of one worker. A process takes some 40 MB."""

    processes: int = 48
    processes_per_repository: int = 12
    wait_seconds: float = 60.0  # for a free process, then the peer is told to come again
    idle_seconds: float = 60.0  # then a process that nobody uses is ended


@dataclass(frozen=True, slots=True)
class Place:
    """What a process is good for."""

    root: str
    overrides: tuple[str, ...]


class Pool:
    """Thread-safe. A process is held by one thread (`lease`) until it is given back or dropped."""

    def __init__(self, limits: Limits | None = None, hg: str | None = None) -> None:
        self.limits = limits or Limits()
        self._hg = hg
        self._changed = threading.Condition()
        self._idle: OrderedDict[Place, deque[StdioServer]] = OrderedDict()  # least recent first
        self._held: set[StdioServer] = set()
        self._count: Counter[Place] = Counter()  # idle and held
        self._leaving: list[StdioServer] = []
        self._preparing: set[Place] = set()
        self._reaper: threading.Thread | None = None
        self._is_closed = False

    def lease(self, place: Place, caller: Caller, work: Work | None = None) -> StdioServer:
        """A process that sees the repository as it is now and knows who asks.

        Raises: PeerError 503 when all are in use; StoreError when Mercurial can't serve it;
        ClientGone, here and while the process reads for `work`.
        """
        work = work or Work()
        config = config_reader(self._hg).read(place.root, place.overrides)
        while True:
            server = self._take_idle(place, config, work)
            if server is None:
                return self._start_held(place, config, caller, work)
            try:
                server.begin(caller, work)
            except ClientGone:
                self.drop(place, server)
                raise
            except StoreError:  # it died while nobody looked, and has run nothing: take another
                self.drop(place, server)
            else:
                return server

    def give_back(self, place: Place, server: StdioServer) -> None:
        """After an exchange that left the process ready for another."""
        server.end_exchange()
        with self._changed:
            if not self._is_closed:
                self._held.discard(server)
                self._put_idle(place, server)
                return
        self.drop(place, server)

    def settle(self, place: Place, server: StdioServer) -> None:
        """After an exchange of whatever outcome."""
        if server.is_between_requests and server.process.is_running:
            self.give_back(place, server)
        else:
            server.process.end()
            self.forget(place, server)

    def drop(self, place: Place, server: StdioServer) -> None:
        """After an exchange that the process didn't survive, or must not."""
        server.process.kill()
        self.forget(place, server)

    def forget(self, place: Place, server: StdioServer) -> None:
        """The process has ended and is reaped already."""
        with self._changed:
            if server in self._held:
                self._held.discard(server)
                self._release(place)

    def keep_spare(self, place: Place, config: HgConfig) -> None:
        """Start a process that the next exchange finds warm, where there is room for one."""
        with self._changed:
            if (
                self._is_closed
                or self._idle.get(place)
                or self._count[place] >= self.limits.processes_per_repository
                or self._count.total() >= self.limits.processes
            ):
                return
            self._count[place] += 1
        try:
            server = self._start(place, config)
        except StoreError:
            with self._changed:
                self._release(place)
            return
        with self._changed:
            if not self._is_closed:
                self._put_idle(place, server)
                return
        server.process.kill()

    def prepare(self, place: Place, pause: float = 0.0) -> None:
        """As `keep_spare`, by what the configuration says now, in a thread that nobody waits for,
        after `pause` seconds. Whoever needs the process is told what is wrong, if anything is.
        """
        with self._changed:
            if self._idle.get(place) or place in self._preparing:
                return
            self._preparing.add(place)
        threading.Thread(target=self._prepare, args=(place, pause), daemon=True).start()

    def _prepare(self, place: Place, pause: float) -> None:
        try:
            time.sleep(pause)
            with contextlib.suppress(TrunklineError):
                self.keep_spare(place, config_reader(self._hg).read(place.root, place.overrides))
        finally:
            with self._changed:
                self._preparing.discard(place)

    def close(self) -> None:
        """End everything. What is held by a thread ends too, under its hands."""
        with self._changed:
            self._is_closed = True
            for place in list(self._idle):
                self._end_idle(place, keep=0)
            held, leaving = list(self._held), self._leaving[:]
            self._leaving.clear()
            self._changed.notify_all()
            reaper = self._reaper
        for server in held:
            server.process.interrupt()
        deadline = time.monotonic() + CLOSE_SECONDS
        for server in leaving:
            server.process.finish(max(0.0, deadline - time.monotonic()))
        for server in held:
            server.process.terminate(max(0.0, deadline - time.monotonic()))
        if reaper is not None:
            reaper.join()

    def interrupt(self, seconds: float) -> None:
        """SIGTERM to all, and wait for their end, but no longer than that."""
        for server in self._all():
            server.process.interrupt()
        deadline = time.monotonic() + seconds
        while self.pids and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    @property
    def pids(self) -> set[int]:
        """Of the processes that run now."""
        return {server.process.pid for server in self._all() if server.process.is_running}

    def _all(self) -> list[StdioServer]:
        with self._changed:
            idle = [server for servers in self._idle.values() for server in servers]
            return [*idle, *self._held, *self._leaving]

    # Taking and starting

    def _take_idle(self, place: Place, config: HgConfig, work: Work) -> StdioServer | None:
        """None: there is room for one more, and it is counted already. Waits for either."""
        deadline = time.monotonic() + self.limits.wait_seconds
        with self._changed:
            while not self._is_closed:
                work.look()
                server = self._pop_idle(place, config)
                if server is not None:
                    self._held.add(server)
                    return server
                if self._make_room(place):
                    self._count[place] += 1
                    return None
                left = deadline - time.monotonic()
                if left <= 0:
                    raise PeerError("too many requests for this repository, try again later", 503)
                self._changed.wait(min(left, LOOK_SECONDS))
        raise StoreError("the server is being stopped", place.root)

    def _pop_idle(self, place: Place, config: HgConfig) -> StdioServer | None:
        servers = self._idle.get(place)
        while servers:
            server = servers.pop()  # the last one used has the warmest caches
            if not servers:
                del self._idle[place]
            if server.config is config and server.process.is_running:
                return server
            self._leave(place, server)
        return None

    def _make_room(self, place: Place) -> bool:
        if self._count[place] >= self.limits.processes_per_repository:
            return False
        if self._count.total() >= self.limits.processes and self._idle:
            self._end_idle(next(iter(self._idle)), keep=0)
        return self._count.total() < self.limits.processes

    def _start_held(
        self, place: Place, config: HgConfig, caller: Caller, work: Work
    ) -> StdioServer:
        server = None
        try:
            server = self._start(place, config)
            with self._changed:
                self._held.add(server)
            server.begin(caller, work)
            return server
        except BaseException:
            with self._changed:
                self._release(place)
                if server is not None:
                    self._held.discard(server)
            if server is not None:
                server.process.kill()
            raise

    def _start(self, place: Place, config: HgConfig) -> StdioServer:
        command = [find_hg(self._hg), "-R", place.root]
        for override in (*_CONFIG, *place.overrides):
            command += ["--config", override]
        command += ["--config", f"extensions.trunkline={_extension_path()}", "debugtrunkline"]
        process = Process(command, child_environment())
        return StdioServer(place.root, process, config)

    # Leaving. All of these are called with the lock held.

    def _put_idle(self, place: Place, server: StdioServer) -> None:
        server.idle_since = time.monotonic()
        self._idle.setdefault(place, deque()).append(server)
        self._idle.move_to_end(place)
        self._wake_reaper()

    def _end_idle(self, place: Place, keep: int) -> None:
        servers = self._idle[place]
        while len(servers) > keep:
            self._leave(place, servers.popleft())
        if not servers:
            del self._idle[place]

    def _leave(self, place: Place, server: StdioServer) -> None:
        """It ends by itself once its stdin is closed; the reaper sees to that."""
        server.process.close_input()
        self._leaving.append(server)
        self._release(place)
        self._wake_reaper()

    def _release(self, place: Place) -> None:
        self._count[place] -= 1
        if self._count[place] <= 0:
            del self._count[place]
        self._changed.notify_all()

    # The reaper: one thread, asleep unless a process is idle or leaving

    def _wake_reaper(self) -> None:
        if self._reaper is None and not self._is_closed:
            self._reaper = threading.Thread(target=self._reap, name="hg-reaper", daemon=True)
            self._reaper.start()
        self._changed.notify_all()

    def _reap(self) -> None:
        while True:
            with self._changed:
                self._expire()
                if not self._leaving:
                    if self._is_closed or not self._idle:
                        self._reaper = None
                        return
                    self._changed.wait(self._next_expiry())
                    continue
                leaving, self._leaving = self._leaving, []
            for server in leaving:
                with contextlib.suppress(OSError):
                    server.process.finish(0.0 if self._is_closed else CLOSE_SECONDS)

    def _expire(self) -> None:
        oldest = time.monotonic() - self.limits.idle_seconds
        for place, servers in list(self._idle.items()):
            while servers and servers[0].idle_since <= oldest:
                self._leave(place, servers.popleft())
            if not servers:
                del self._idle[place]

    def _next_expiry(self) -> float:
        first = min(servers[0].idle_since for servers in self._idle.values())
        return max(0.05, first + self.limits.idle_seconds - time.monotonic())


def _extension_path() -> str:
    return str(importlib.resources.files("trunkline.hg.stock") / "inside.py")
