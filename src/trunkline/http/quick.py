"""Which short commands are answered in the event loop itself, because they have shown to be quick.

A hand-over to a thread and back costs more than such an answer takes (measured: half of the CPU of
a pull that finds nothing new), and while a clone is being packed each of them waits for its turn.
So a command of one repository that was quick a few times runs where it is; the first slow answer
sends it to the threads again, and so does a state of the repository in which it hasn't been
answered yet. What may wait for another process never gets in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock

from trunkline.errors import TrunklineError
from trunkline.work import Work

QUICK_SECONDS = 0.002
TIMES = 3  # in a row, before it counts
REQUEST_LIMIT = 8 * 1024  # bytes of query and arguments
HEADERS_LIMIT = 24  # more of them carry long arguments
KNOWN_LIMIT = 4096  # pairs of repository and command

WALK_LIMIT = 1000  # revisions of old clients' discovery: they may ask for any number

Key = tuple[tuple[str, ...], bytes]


class NotQuick(TrunklineError):
    """It showed on the way that a thread is needed."""


class QuickWork(Work):
    """What may be done in the event loop. Raises: NotQuick for more."""

    __slots__ = ("_is_warm",)

    def __init__(self, is_warm: Callable[[bytes], bool]) -> None:
        super().__init__(WALK_LIMIT)
        self._is_warm = is_warm

    def begin(self, command: bytes) -> None:
        if not self._is_warm(command):
            raise NotQuick(command.decode())

    def refusal(self) -> Exception:
        return NotQuick("a long walk")


class Quick:
    """Thread-safe. A state is told from others by its `id`: one that is mistaken for an older one
    of the same address costs a moment, no more.
    """

    def __init__(self) -> None:
        self._times: OrderedDict[Key, int] = OrderedDict()
        self._warm: OrderedDict[Key, int] = OrderedDict()  # in which state it was answered last
        self._lock = Lock()

    def is_quick(self, key: Key) -> bool:
        return self._times.get(key, 0) >= TIMES

    def learn(self, key: Key, seconds: float) -> None:
        if seconds > QUICK_SECONDS:
            with self._lock:
                self._times.pop(key, None)
        elif not self.is_quick(key):
            with self._lock:
                put(self._times, key, self._times.get(key, 0) + 1)

    def is_warm(self, key: Key, state: object) -> bool:
        """Whether what this command works out once for each state is there."""
        return self._warm.get(key) == id(state)

    def warm(self, names: tuple[str, ...], commands: Iterable[bytes], state: object) -> None:
        with self._lock:
            for command in commands:
                put(self._warm, (names, command), id(state))


def put(known: OrderedDict[Key, int], key: Key, value: int) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > KNOWN_LIMIT:
        known.popitem(last=False)
