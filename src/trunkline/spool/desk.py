"""Where a worker leaves its orders: starts its nursery, and waits for a word."""

from __future__ import annotations

import logging
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from threading import Lock
from typing import IO

from trunkline.reply import Order
from trunkline.spool.order import READ_SIZE, Call, Frames, Outcome, Terms, format_frame
from trunkline.spool.trouble import PAUSE_SECONDS

log = logging.getLogger(__name__)

CLOSE_SECONDS = 1.0
ANSWER_SECONDS = 20.0  # a nursery that hangs in the disk is given up


class NoAnswer(Exception):
    """The nursery is gone, or hangs."""


class Desk:
    """Thread-safe; a call waits for the one before it, a few milliseconds each."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._lock = Lock()
        self._nursery: subprocess.Popen[bytes] | None = None
        self._frames = Frames()
        self._pause_until = 0.0

    def call(self, order: Order, dead: int = 0) -> Outcome:
        """Never raises: whoever can't be served by the spool gets a stream."""
        with self._lock:
            for _ in range(2):  # a nursery may have been killed
                if time.monotonic() < self._pause_until:
                    break
                try:
                    if self._nursery is None:
                        self._start()
                    return self._ask(Call(order, dead))
                except NoAnswer:
                    self._stop()
                except OSError as error:
                    self._stop()
                    log.warning("no process to build replies for many: %s", error)
        return Outcome.TROUBLE

    def _start(self) -> None:
        """Raises: OSError, NoAnswer."""
        self._pause_until = time.monotonic() + PAUSE_SECONDS  # unless it comes up
        self._frames = Frames()
        self._nursery = subprocess.Popen(
            [sys.executable, "-P", "-m", "trunkline.spool.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=nursery_environment(),
            start_new_session=True,  # a Ctrl-C is our worker's
        )
        if self._ask(self._terms) is not Outcome.CLAIMED:
            raise NoAnswer
        self._pause_until = 0.0

    def _ask(self, value: object) -> Outcome:
        """Raises: NoAnswer."""
        nursery = self._nursery
        assert nursery is not None
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        try:
            write_all(nursery.stdin, format_frame(value))
        except OSError:
            raise NoAnswer from None
        until = time.monotonic() + ANSWER_SECONDS
        while True:
            if not select.select([nursery.stdout], [], [], until - time.monotonic())[0]:
                raise NoAnswer
            data = nursery.stdout.read(READ_SIZE)
            if not data:
                raise NoAnswer
            for outcome in self._frames.feed(data):
                assert isinstance(outcome, Outcome)
                return outcome

    def _stop(self) -> None:
        nursery, self._nursery = self._nursery, None
        if nursery is None:
            return
        with suppress(OSError):
            nursery.kill()
        for pipe in (nursery.stdin, nursery.stdout):
            if pipe is not None:
                pipe.close()
        nursery.wait()

    def close(self) -> None:
        """Builders go on for readers elsewhere. A nursery that hangs ends with our pipes."""
        if self._lock.acquire(timeout=CLOSE_SECONDS):
            self._stop()
            self._lock.release()


def nursery_environment() -> dict[str, str]:
    """It imports from where we do, and never from the current folder, which may be full of
    repositories. It forks, so numpy must not start threads.
    """
    found = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    found["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if os.path.isabs(path))
    return found


def write_all(pipe: IO[bytes], data: bytes) -> None:
    """Raises: OSError."""
    left = memoryview(data)
    while left:
        left = left[os.write(pipe.fileno(), left) :]
