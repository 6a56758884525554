"""Logins that were judged a moment ago: 2,000 requests of one job don't cost 2,000 bcrypts."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

KEY_BYTES = 32
DIGEST_BYTES = 32


class Remembered:
    """Thread-safe. Holds no password, and nothing to try passwords against outside of this
    process: digests under a key that was drawn at the start and is written nowhere.

    The password's own hash is part of what is digested: once it is changed or gone, the login is
    unknown. `limit`: logins, the one used longest ago out first; `seconds`: each is kept, 0: none.
    """

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float]) -> None:
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._key = os.urandom(KEY_BYTES)
        self._until: OrderedDict[bytes, float] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._until)

    def add(self, user: str, password: bytes, text: str) -> None:
        if not self._seconds:
            return
        digest = self._digest(user, password, text)
        with self._lock:
            self._until[digest] = self._clock() + self._seconds
            self._until.move_to_end(digest)
            while len(self._until) > self._limit:
                self._until.popitem(last=False)

    def has(self, user: str, password: bytes, text: str) -> bool:
        """Looks a keyed digest up: how long that takes tells nothing about the password."""
        digest = self._digest(user, password, text)
        with self._lock:
            until = self._until.get(digest)
            if until is None:
                return False
            if until <= self._clock():
                del self._until[digest]
                return False
            self._until.move_to_end(digest)
            return True

    def _digest(self, user: str, password: bytes, text: str) -> bytes:
        state = hashlib.blake2b(key=self._key, digest_size=DIGEST_BYTES)
        for part in (user.encode("utf-8", "surrogateescape"), text.encode(), password):
            state.update(len(part).to_bytes(8, "big") + part)
        return state.digest()
