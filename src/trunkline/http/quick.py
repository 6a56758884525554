"""Which short commands the event loop may answer itself, because the whole answer is kept.

A hand-over to a thread and back costs more than such an answer takes (measured: half of the CPU of
a pull that finds nothing new), and while a clone is being packed each of them waits for its turn.
Nothing is worked out in the loop: what a request costs is the peer's choice. What a command cost
before tells nothing about what it costs with other arguments, or in another state.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

KNOWN_LIMIT = 4096  # pairs of repository and command

Key = tuple[tuple[str, ...], bytes | None]


class Quick:
    """Where looking for a kept answer is worth the looks at the disk. Thread-safe."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, None] = OrderedDict()
        self._lock = Lock()

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def add(self, key: Key) -> None:
        """A kept answer was given."""
        with self._lock:
            self._known[key] = None
            self._known.move_to_end(key)
            while len(self._known) > KNOWN_LIMIT:
                self._known.popitem(last=False)
