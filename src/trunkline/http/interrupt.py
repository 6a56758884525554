"""What a main loop waits for, and a signal may set at any moment."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress


class Interrupt:
    """In the place of a `threading.Event`, which signals can get past in two ways.

    Of two that come together the kernel may give both to another thread: the main thread, which
    alone runs handlers, waits on (seen with SIGINT and SIGTERM in two of three tries). A pipe that
    the system's own handler writes to (`heed_signals`) wakes it. And an event has a lock: a handler
    that comes while it is held waits for ever; a pipe has none.

    Whoever clears it has dealt with one reason; if it is to stop besides (`must_stop`), it stays
    set.
    """

    def __init__(self, must_stop: Callable[[], bool]) -> None:
        self._must_stop = must_stop
        self._reader, self._writer = os.pipe()
        for descriptor in (self._reader, self._writer):
            os.set_blocking(descriptor, False)

    def heed_signals(self) -> None:
        """In the main thread; for those that have a handler in Python."""
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def set(self) -> None:
        with suppress(BlockingIOError):  # full: it is set
            os.write(self._writer, b"!")

    def wait(self) -> None:
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        poll.poll()

    def clear(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                pass
        if self._must_stop():
            self.set()
