"""Who uses a file, and how often it was asked for: `NAME.uses`.

A byte for each request: the size is the count, the mtime the last time. Readers hold a shared
lock on it; where locks can't be trusted, they touch it every RENEW_SECONDS.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from trunkline.spool.lease import LEASE_SECONDS, RENEW_SECONDS, share, try_hold
from trunkline.spool.place import FILE_MODE, Place

GRACE_SECONDS = 2.0  # a reader who left may come again
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Use:
    """One process reads the file, for any number of requests."""

    def __init__(self, place: Place, name: str) -> None:
        """Raises: OSError."""
        self._is_local = place.is_local
        self._renewed = time.monotonic()
        while True:
            self._descriptor = os.open(place.uses(name), APPEND, FILE_MODE)
            share(self._descriptor)
            if os.fstat(self._descriptor).st_nlink:
                return
            os.close(self._descriptor)  # removed by who made room, while we waited for the lock

    def count(self) -> None:
        """One more request."""
        with suppress(OSError):
            os.write(self._descriptor, b"+")

    def renew(self) -> None:
        if self._is_local or time.monotonic() - self._renewed < RENEW_SECONDS:
            return
        self._renewed = time.monotonic()
        with suppress(OSError):
            os.utime(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class Audience:
    """Whether anybody reads what is being made."""

    def __init__(
        self, place: Place, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = place.uses(name)
        self._is_local = place.is_local
        self._clock = clock
        self._seen: tuple[int, int] | None = None
        self._since = clock()

    def is_gone(self) -> bool:
        """Ask again and again: nobody must have been there for a while."""
        now = self._clock()
        if self._is_there():
            self._since = now
        patience = GRACE_SECONDS if self._is_local else LEASE_SECONDS
        return now - self._since >= patience

    def _is_there(self) -> bool:
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            if self._is_local:
                return not try_hold(descriptor)
            found = os.fstat(descriptor)
            seen, self._seen = self._seen, (found.st_mtime_ns, found.st_size)
            return seen != self._seen
        except OSError:
            return True
        finally:
            os.close(descriptor)
