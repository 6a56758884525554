"""A set of ancestors that is walked only as far down as it is asked about."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from threading import Lock

import numpy as np
import numpy.typing as npt


class LazyAncestors:
    """`revs` and their ancestors; `rev in it` walks down to `rev` and no further.

    Right for "does the client have this delta's base?", where nearly all bases are near.
    """

    def __init__(
        self, p1: npt.NDArray[np.int32], p2: npt.NDArray[np.int32], revs: Iterable[int]
    ) -> None:
        self._p1, self._p2 = p1.item, p2.item
        self._seen = {rev for rev in revs if rev >= 0}
        self._queue = [-rev for rev in self._seen]
        heapq.heapify(self._queue)
        self._walking = Lock()

    def __contains__(self, rev: int) -> bool:
        if rev < 0:
            return rev == -1
        with self._walking:
            self._walk(rev)
            return rev in self._seen

    def _walk(self, rev: int) -> None:
        queue, seen, p1, p2 = self._queue, self._seen, self._p1, self._p2
        while queue and -queue[0] > rev:
            current = -heapq.heappop(queue)
            for parent in (p1(current), p2(current)):
                if parent >= 0 and parent not in seen:
                    seen.add(parent)
                    heapq.heappush(queue, -parent)
