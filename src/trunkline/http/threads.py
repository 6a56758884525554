"""A fixed number of threads that do what the event loop must not: CPU work and disk.

Leaner than concurrent.futures (half the cost of a hand-over), which short commands feel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Value = TypeVar("Value")

_Job = tuple["asyncio.Future[Any]", Callable[..., Any], tuple[Any, ...]]


class Threads:
    """Made in the process and loop that use it. Jobs are done in the order of their coming."""

    def __init__(self, count: int, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._work, name=f"{name}-{number}", daemon=True)
            for number in range(count)
        ]
        self.count = count
        for thread in self._threads:
            thread.start()

    def run(self, work: Callable[..., Value], *args: Any) -> asyncio.Future[Value]:
        """A future of `work(*args)`. It is run even when the future is cancelled meanwhile."""
        future: asyncio.Future[Value] = self._loop.create_future()
        self._jobs.put((future, work, args))
        return future

    def close(self) -> None:
        """After the jobs that are waiting."""
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            future, work, args = job
            value, error = None, None
            try:
                value = work(*args)
            except BaseException as raised:
                error = raised
            try:
                self._loop.call_soon_threadsafe(settle, future, value, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return
            del job, future, work, args, value, error  # an idle thread holds nothing alive


def settle(future: asyncio.Future[Value], value: Value, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration):  # a future can't carry it
        future.set_exception(RuntimeError("StopIteration out of a job"))
    else:
        future.set_exception(error)
