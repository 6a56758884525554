"""Which revision each delta on the wire is made against.

A stored delta goes out as it is whenever its base comes earlier in the group or the client has it.
The client has the parents of what it is sent, and all ancestors of those that aren't sent.
Otherwise a new delta is made: against p1, else p2, else the revision before it in the group.
Source: hg 7.2.4, mercurial/revlog.py `_emit_revisions` (its order of choice is kept).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from operator import ge

from trunkline.hg.bundle.logs import NO_DELTA, Log
from trunkline.hg.node import NULL_REV


class Known:
    """Ancestors of `heads`, they too; walked only as far down as it is asked about."""

    def __init__(self, log: Log, heads: set[int]) -> None:
        self._log = log
        self._seen = {rev for rev in heads if rev >= 0}
        self._queue = [-rev for rev in self._seen]
        heapq.heapify(self._queue)

    def __contains__(self, rev: int) -> bool:
        queue, seen = self._queue, self._seen
        while queue and -queue[0] > rev:
            for parent in self._log.parents([-heapq.heappop(queue)])[0]:
                if parent >= 0 and parent not in seen:
                    seen.add(parent)
                    heapq.heappush(queue, -parent)
        return rev in seen


class Bases:
    """Choices for one group, whose revisions are `revs`, sorted; `is_whole`: all of the log.

    Holds: a byte a revision of the log.
    """

    def __init__(self, log: Log, revs: Sequence[int], is_whole: bool) -> None:
        self._log = log
        self._revs = revs
        self._is_whole = is_whole
        self._sent = bytearray(0 if is_whole else log.revlog.count)
        if not is_whole:
            for rev in revs:
                self._sent[rev] = 1

    def choose(self, revs: Sequence[int], previous: int) -> list[int]:
        """For a run of the group's revisions; `previous` is the one sent before it."""
        chosen = self._log.bases(revs)
        self._refuse_stray(revs, chosen)
        if not self._is_whole:
            befores = chain((previous,), revs)
            chosen = [
                base if self._is_there(base) else self._other(rev, before)
                for rev, base, before in zip(revs, chosen, befores, strict=False)
            ]
        if self._has_odd(revs) or (not self._is_whole and self._has_odd(chosen)):
            chosen = [
                base if self._may_delta(rev, base) else -1
                for rev, base in zip(revs, chosen, strict=True)
            ]
        self._refuse_stray(revs, chosen)
        return chosen

    def _refuse_stray(self, revs: Sequence[int], bases: Sequence[int]) -> None:
        """Raises: StoreError for a base that doesn't come before its revision."""
        if any(map(ge, bases, revs)) or min(bases, default=NULL_REV) < NULL_REV:
            pairs = zip(revs, bases, strict=True)
            rev, base = next(pair for pair in pairs if not NULL_REV <= pair[1] < pair[0])
            raise self._log.revlog.fault(rev, f"is a delta against {base}")

    def _is_there(self, base: int) -> bool:
        return base < 0 or bool(self._sent[base]) or base in self._known

    def _other(self, rev: int, previous: int) -> int:
        for parent in self._log.parents([rev])[0]:
            if parent >= 0 and self._is_there(parent):
                return parent
        return previous

    def _has_odd(self, revs: Sequence[int]) -> bool:
        """Any that no delta may be made of? -1 among them may raise a false alarm, no more."""
        return any(flags & NO_DELTA for flags in self._log.flags(revs))

    def _may_delta(self, rev: int, base: int) -> bool:
        return base < 0 or not self._has_odd((rev, base))

    @cached_property
    def _known(self) -> Known:
        parents = set(chain.from_iterable(self._log.parents(self._revs)))
        return Known(self._log, {rev for rev in parents if rev >= 0 and not self._sent[rev]})


def chain_bases(revs: Sequence[int], previous: int) -> list[int]:
    """Changegroup 01: each against the one before it."""
    return [previous, *revs[:-1]]
