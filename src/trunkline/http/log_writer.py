"""Writes lines of logs from a thread of its own, so that nobody waits for who reads them.

A pipe that isn't read, or a disk that hangs, holds the thread up. Lines wait then, and past a
limit they are dropped; how many, is said when writing goes on.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable

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
        """Write what waits, and end the thread."""
        self.flush()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while data := self._take():
            lost = 0
            try:
                write_all(self._descriptor(), data)
            except OSError:  # a full disk must not stop the service
                lost = data.count(b"\n")
            with self._changed:
                self._size -= len(data)
                self._dropped += lost
                told, self._dropped = (0, self._dropped) if lost else (self._dropped, 0)
                self._changed.notify_all()
            if told:
                log.warning("%d lines of %s were dropped: they couldn't go out", told, self._name)
            time.sleep(PAUSE_SECONDS)

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


def write_all(descriptor: int, data: bytes) -> None:
    """Raises: OSError."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


stderr_writer = LogWriter(lambda: STDERR, "stderr")


class LogHandler(logging.Handler):
    """What is logged in Python, to stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        stderr_writer.write(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))

    def flush(self) -> None:
        stderr_writer.flush()
