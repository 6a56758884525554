"""What libsvn drives us to write, as blocks that somebody pulls: two threads and a short queue.

Holds: `QUEUE` blocks. The driving thread waits while its reader is slow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Queue

BLOCK = 64 * 1024  # bytes that are handed over together
FIRST_BLOCK = 4 * 1024  # bytes; each is twice as long as the one before
QUEUE = 4  # blocks
# The first ones are on their way before the next is begun: else this thread keeps the interpreter
# from those that send them, and a client that could work waits.
EARLY = 6  # blocks
EARLY_SECONDS = 0.005

Write = Callable[[bytes], None]


class ReaderGone(Exception):
    """Nobody reads on; ends the drive."""


class Pushed:
    """`produce(write)` runs in a thread of its own from the first pull on."""

    def __init__(self, produce: Callable[[Output], None]) -> None:
        self._produce = produce
        self._queue: Queue[bytes | BaseException | None] = Queue(QUEUE)
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._taken = threading.Event()
        self._early = EARLY

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="svn-drive", daemon=True)
            self._thread.start()
        item = self._queue.get()
        self._taken.set()
        if item is None or isinstance(item, BaseException):
            self._queue.put(None)
            if item is None:
                raise StopIteration
            raise item
        return item

    def _run(self) -> None:
        output = Output(self._put)
        try:
            self._produce(output)
            output.flush()
        except BaseException as error:
            self._finish(error)
        else:
            self._finish(None)

    def _put(self, block: bytes) -> None:
        if self._is_closed:
            raise ReaderGone
        self._taken.clear()
        self._queue.put(block)
        if self._early:
            self._early -= 1
            self._taken.wait(EARLY_SECONDS)

    def _finish(self, last: BaseException | None) -> None:
        if not self._is_closed:
            self._queue.put(last)

    def close(self) -> None:
        """Ends the drive, and waits for that."""
        self._is_closed = True
        while self._thread is not None and self._thread.is_alive():
            while not self._queue.empty():
                self._queue.get_nowait()
            self._thread.join(0.01)


class Output:
    """Small pieces put together into blocks. The first ones are short: the reader has work, too."""

    __slots__ = ("_enough", "_parts", "_put", "_size")

    def __init__(self, put: Write) -> None:
        self._put = put
        self._parts: list[bytes] = []
        self._size = 0
        self._enough = FIRST_BLOCK

    def write(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size >= self._enough:
            self._enough = min(2 * self._enough, BLOCK)
            self.flush()

    def flush(self) -> None:
        if self._size:
            block, self._parts, self._size = b"".join(self._parts), [], 0
            self._put(block)
