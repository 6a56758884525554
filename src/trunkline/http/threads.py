"""A fixed number of threads that do what the event loop must not: CPU work and disk.

Leaner than concurrent.futures (half the cost of a hand-over), which short commands feel. And the
thread that was busy last is the next to work, so that one reply's pieces come from one thread
with its caches and its memory warm: a stream of 335 MB costs 0.57 s of CPU, and 0.85 s when 16
threads take turns.

Jobs wait in a queue for each guest, and the queues take turns, so nobody waits behind all that
another has asked for; nor has one guest more than its share of the threads, so nobody waits for
another's longest jobs to end.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Value = TypeVar("Value")


@dataclass(slots=True)
class _Job:
    guest: str
    future: asyncio.Future[Any]
    work: Callable[..., Any]
    args: tuple[Any, ...]


_Inbox = SimpleQueue[_Job | None]


class Threads:
    """Made, and asked, in the process and loop that use it. One guest's jobs begin in the order of
    their coming. `share`: threads that one guest may hold at once; all of them when it is None.
    """

    def __init__(self, count: int, name: str, share: int | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        # These are touched in the loop's thread only. The last of the idle is the next to work.
        self._idle: list[_Inbox] = [SimpleQueue() for _ in range(count)]
        self._waiting: OrderedDict[str, deque[_Job]] = OrderedDict()  # by guest, next one first
        self._held: Counter[str] = Counter()  # threads by guest
        self._share = share or count
        self._is_closed = False
        self._threads = [
            Thread(target=self._work, args=(inbox,), name=f"{name}-{number}", daemon=True)
            for number, inbox in enumerate(self._idle)
        ]
        self.count = count
        for thread in self._threads:
            thread.start()

    def lane(self, guest: str) -> Lane:
        return Lane(self, guest)

    def run(self, work: Callable[..., Value], *args: Any) -> asyncio.Future[Value]:
        """For ourselves, who are a guest as well."""
        return self.run_for("", work, *args)

    def run_for(self, guest: str, work: Callable[..., Value], *args: Any) -> asyncio.Future[Value]:
        """A future of `work(*args)`. It is run even when the future is cancelled meanwhile."""
        future: asyncio.Future[Value] = self._loop.create_future()
        job = _Job(guest, future, work, args)
        # With a thread idle, whoever waits has his share already.
        if self._idle and self._held[guest] < self._share:
            self._begin(self._idle.pop(), job)
        else:
            self._waiting.setdefault(guest, deque()).append(job)
        return future

    def close(self) -> None:
        """After the jobs that are waiting."""
        self._is_closed = True
        self._end_idle()

    def _begin(self, inbox: _Inbox, job: _Job) -> None:
        self._held[job.guest] += 1
        inbox.put(job)

    def _next(self) -> _Job | None:
        """Of the first guest in turn that has not its share; that one is the last in turn then."""
        for guest, jobs in self._waiting.items():
            if self._held[guest] < self._share:
                job = jobs.popleft()
                if jobs:
                    self._waiting.move_to_end(guest)
                else:
                    del self._waiting[guest]
                return job
        return None

    def _work(self, inbox: _Inbox) -> None:
        while True:
            job = inbox.get()
            if job is None:
                return
            value, error = None, None
            try:
                value = job.work(*job.args)
            except BaseException as raised:
                error = raised
            try:
                self._loop.call_soon_threadsafe(
                    self._done, inbox, job.guest, job.future, value, error
                )
            except RuntimeError:  # the loop is closed: nobody waits any more
                return
            del job, value, error  # an idle thread holds nothing alive

    def _done(
        self,
        inbox: _Inbox,
        guest: str,
        future: asyncio.Future[Value],
        value: Value,
        error: BaseException | None,
    ) -> None:
        """In the loop: what the thread does next, and the word to who waits for the job."""
        self._held[guest] -= 1
        if not self._held[guest]:
            del self._held[guest]
        job = self._next()
        if job is not None:
            self._begin(inbox, job)
        else:
            self._idle.append(inbox)
            self._end_idle()
        settle(future, value, error)

    def _end_idle(self) -> None:
        """Those that wait are of guests who have their share: a thread of theirs goes on."""
        if self._is_closed:
            while self._idle:
                self._idle.pop().put(None)


@dataclass(frozen=True, slots=True)
class Lane:
    """The threads as one guest has them."""

    threads: Threads
    guest: str

    def run(self, work: Callable[..., Value], *args: Any) -> asyncio.Future[Value]:
        return self.threads.run_for(self.guest, work, *args)


def settle(future: asyncio.Future[Value], value: Value, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration):  # a future can't carry it
        future.set_exception(RuntimeError("StopIteration out of a job"))
    else:
        future.set_exception(error)
