"""Failed logins, counted so that nobody can try passwords for long."""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from trunkline.config.auth import Auth
from trunkline.errors import PeerError

TOO_MANY_REQUESTS = 429
DIGEST_BYTES = 16
Key = bytes
Value = TypeVar("Value")


class TooManyFailures(PeerError):
    """`seconds`: after so many it is worth another try."""

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"too many failed logins: try again in {seconds} seconds", status=TOO_MANY_REQUESTS
        )
        self.seconds = seconds


@dataclass(slots=True)
class Count:
    """Failures since `start`; forgotten after a while from then."""

    failures: int
    start: float


class Guesses:
    """Thread-safe. Three counts: of a user from one address, of an address, of a user.

    A name's owner must not be locked out by strangers who guess: past the user's own count, the
    addresses that have proven the password before are still let in. That they are is not to be
    had by guessing, which the first count ends.

    Holds: `failures_kept` entries of each, the one touched longest ago out first; a name is held
    as a digest, however long it is.
    """

    def __init__(self, auth: Auth, clock: Callable[[], float]) -> None:
        self._auth = auth
        self._clock = clock
        self._counts: OrderedDict[Key, Count] = OrderedDict()
        self._proven: OrderedDict[Key, bool] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._counts) + len(self._proven)

    def check(self, address: str, user: str) -> None:
        """To be called before the password is looked at. Raises: TooManyFailures."""
        auth = self._auth
        with self._lock:
            wait = max(
                self._wait(key("login", address, user), auth.failures_per_login),
                self._wait(key("address", address), auth.failures_per_address),
            )
            if not wait and key("login", address, user) not in self._proven:
                wait = self._wait(key("user", user), auth.failures_per_user)
        if wait:
            raise TooManyFailures(math.ceil(wait))

    def check_address(self, address: str) -> None:
        """For what is no password of a user. Raises: TooManyFailures."""
        with self._lock:
            wait = self._wait(key("address", address), self._auth.failures_per_address)
        if wait:
            raise TooManyFailures(math.ceil(wait))

    def failed(self, address: str, user: str | None = None) -> None:
        """`user` is None where none could be guessed at."""
        with self._lock:
            self._count(key("address", address))
            if user is not None:
                self._count(key("login", address, user))
                self._count(key("user", user))

    def succeeded(self, address: str, user: str) -> None:
        """The failures before it stay counted: else who has one login could guess at others."""
        with self._lock:
            keep(self._proven, key("login", address, user), True, self._auth.failures_kept)

    def _count(self, one: Key) -> None:
        now = self._clock()
        count = self._counts.get(one)
        if count is None or count.start + self._auth.failure_seconds <= now:
            count = Count(0, now)
        count.failures += 1
        keep(self._counts, one, count, self._auth.failures_kept)

    def _wait(self, one: Key, limit: int) -> float:
        """Seconds, 0 when there is none to wait for."""
        count = self._counts.get(one)
        if count is None or count.failures < limit:
            return 0.0
        return max(0.0, count.start + self._auth.failure_seconds - self._clock())


def keep(kept: OrderedDict[Key, Value], one: Key, value: Value, limit: int) -> None:
    kept[one] = value
    kept.move_to_end(one)
    while len(kept) > limit:
        kept.popitem(last=False)


def key(kind: str, *words: str) -> Key:
    text = "\0".join((kind, *words)).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()
