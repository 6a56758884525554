"""Is the process that makes a file still there?

Where locks can be trusted, it holds one for as long as it lives. Elsewhere it touches the file
every RENEW_SECONDS, and is given up by one who has seen no change for LEASE_SECONDS of its own
monotonic clock. No two clocks are compared, so none that jumps does harm.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from enum import Enum

RENEW_SECONDS = 2.0
LEASE_SECONDS = 15.0
# A claim is made, and then locked: a lock that is free counts when it is still free after this.
FREE_SECONDS = 0.25


def hold(descriptor: int) -> None:
    """For as long as anybody has this open file. Waits for those who only look."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        pass  # no locks here: the mtime must do


def try_hold(descriptor: int) -> bool:
    """Alone. Raises: OSError where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def share(descriptor: int) -> None:
    """With others who only read."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        pass


def is_free(descriptor: int) -> bool:
    """Nobody holds it alone. Not for a descriptor by which a lock is held."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


class Sign(Enum):
    UNKNOWN = "it may be alive"
    ALIVE = "it was a moment ago"
    DEAD = "it is gone"


class Watch:
    """Of one file, by one who looks again and again."""

    def __init__(
        self, descriptor: int, is_local: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._descriptor = descriptor
        self._is_local = is_local
        self._clock = clock
        self._seen: tuple[int, int] | None = None
        self._since = 0.0  # when it was first seen so

    def look(self, found: os.stat_result) -> Sign:
        """`found` is the file's stat of just now."""
        return self._look_at_lock(found) if self._is_local else self._look_at_times(found)

    def _look_at_lock(self, found: os.stat_result) -> Sign:
        if not is_free(self._descriptor):
            return Sign.ALIVE
        if found.st_size:  # nothing is written before the lock is held
            return Sign.DEAD
        now = self._clock()
        self._since = self._since or now
        return Sign.DEAD if now - self._since >= FREE_SECONDS else Sign.UNKNOWN

    def _look_at_times(self, found: os.stat_result) -> Sign:
        now, seen = self._clock(), (found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            is_first = self._seen is None
            self._seen, self._since = seen, now
            return Sign.UNKNOWN if is_first else Sign.ALIVE
        return Sign.DEAD if now - self._since >= LEASE_SECONDS else Sign.UNKNOWN
