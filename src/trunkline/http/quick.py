"""Which short commands are answered in the event loop itself, because they have shown to be quick.

A hand-over to a thread and back costs more than such an answer takes (measured: half of the CPU of
a pull that finds nothing new), and while a clone is being packed each of them waits for its turn.
So a command of one repository that was quick a few times runs where it is; the first slow answer,
say after a commit, sends it to the threads again. What may wait for another process never gets in.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

QUICK_SECONDS = 0.002
TIMES = 3  # in a row, before it counts
REQUEST_LIMIT = 8 * 1024  # bytes of query and arguments
HEADERS_LIMIT = 24  # more of them carry long arguments
KNOWN_LIMIT = 4096  # pairs of repository and command

Key = tuple[tuple[str, ...], bytes]


class Quick:
    """Thread-safe."""

    def __init__(self) -> None:
        self._times: OrderedDict[Key, int] = OrderedDict()
        self._lock = Lock()

    def is_quick(self, key: Key) -> bool:
        return self._times.get(key, 0) >= TIMES

    def learn(self, key: Key, seconds: float) -> None:
        if seconds > QUICK_SECONDS:
            with self._lock:
                self._times.pop(key, None)
        elif not self.is_quick(key):
            with self._lock:
                self._times[key] = self._times.pop(key, 0) + 1
                while len(self._times) > KNOWN_LIMIT:
                    self._times.popitem(last=False)
