"""Writes lines of logs from a thread of its own, so that nobody waits for who reads them.

A pipe that isn't read, or a disk that hangs, holds the thread up. Lines wait then, and past a
limit they are dropped. That lines don't go out is said once, how many didn't when writing goes on
or ends.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

log = logging.getLogger(__name__)

STDERR = 2
QUEUE_LIMIT = 1024 * 1024  # bytes that wait
WRITE_LIMIT = 4096  # bytes at once: as many go to a pipe in one piece (PIPE_BUF of Linux)
PAUSE_SECONDS = 0.01  # between two writes, so that a busy server's lines are written together
FLUSH_SECONDS = 1.0  # at the end, for what waits


class LogWriter:
    """Thread-safe. Keeps the order of lines; `name` is for the words about those it dropped.

    `descriptor` is asked before each write, by the thread that writes.
    """

    def __init__(self, descriptor: Callable[[], int], name: str, limit: int = QUEUE_LIMIT) -> None:
        self._descriptor = descriptor
        self._name = name
        self._limit = limit
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0  # bytes, those being written too
        self._dropped = 0
        self._is_torn = False  # what was written last is a part of a line
        self._is_failing = False
        self._thread: threading.Thread | None = None
        self._is_asleep = False
        self._is_closed = False

    def write(self, line: bytes) -> None:
        """With its line end. Never waits."""
        with self._changed:
            if self._size + len(line) > self._limit or self._is_closed:
                self._dropped += 1
                return
            self._waiting.append(line)
            self._size += len(line)
            if self._is_asleep:
                self._is_asleep = False
                self._changed.notify_all()
            elif self._thread is None:
                self._thread = threading.Thread(target=self._run, name="log", daemon=True)
                self._thread.start()

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Whether everything was written before the time was over."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._size, seconds)

    def close(self) -> None:
        """Write what waits, and end the thread. Of the lines that are lost then, all is said."""
        self.flush()
        with self._changed:
            self._is_closed = True
            lost, self._dropped = self._dropped + len(self._waiting), 0
            self._size -= sum(map(len, self._waiting))
            self._waiting.clear()
            self._changed.notify_all()
        self._tell(lost)

    def _run(self) -> None:
        while data := self._take():
            lost = self._put(data)
            with self._changed:
                self._size -= len(data)
                self._dropped += lost
                told, self._dropped = (0, self._dropped) if lost else (self._dropped, 0)
                self._changed.notify_all()
            self._tell(told)
            time.sleep(PAUSE_SECONDS)

    def _put(self, data: bytes) -> int:
        """How many of the lines didn't go out whole. A full disk must not stop the service."""
        torn = b"\n" if self._is_torn else b""
        written = 0
        try:
            descriptor = self._descriptor()
            for part in written_parts(descriptor, torn + data):
                written += part
        except OSError as error:
            whole = torn + data
            if written:
                self._is_torn = whole[written - 1 : written] != b"\n"
            if not self._is_failing:
                self._is_failing = True
                log.error("%s can't be written: %s", self._name, error.strerror)
            return whole.count(b"\n", max(written, len(torn)))
        self._is_torn = self._is_failing = False
        return 0

    def _tell(self, dropped: int) -> None:
        if dropped:
            log.warning("%d lines of %s were dropped: they couldn't go out", dropped, self._name)

    def _take(self) -> bytes:
        """Whole lines, in one piece where they fit; b"" at the end."""
        with self._changed:
            while not (self._waiting or self._is_closed):
                self._is_asleep = True
                self._changed.wait()
            if not self._waiting:
                return b""
            lines = [self._waiting.popleft()]
            size = len(lines[0])
            while self._waiting and size + len(self._waiting[0]) <= WRITE_LIMIT:
                size += len(self._waiting[0])
                lines.append(self._waiting.popleft())
            return b"".join(lines)


def written_parts(descriptor: int, data: bytes) -> Iterator[int]:
    """Writes all of it, and says how many bytes went out at once. Raises: OSError."""
    left = memoryview(data)
    while left:
        size = os.write(descriptor, left)
        left = left[size:]
        yield size


stderr_writer = LogWriter(lambda: STDERR, "stderr")


class LogHandler(logging.Handler):
    """What is logged in Python, to stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        stderr_writer.write(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))

    def flush(self) -> None:
        stderr_writer.flush()
