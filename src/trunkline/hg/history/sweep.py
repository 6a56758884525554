"""One walk down the graph that answers "whose ancestor is this?" for two sides at once.

Flags are handed from a revision to its parents, block after block of revision numbers, from the
highest number down. Blocks grow from a few hundred to tens of thousands: a pull of five new
changesets looks at one small block, a clone runs at the speed of a plain loop, and no step is
taken over numbers that nobody points at. (A heap of numbers, as Mercurial's own
missing-ancestors has, costs ten times as much per revision in Python.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

WANTED = 1
COMMON = 2
FIRST_BLOCK = 256  # revisions
LAST_BLOCK = 32768  # revisions

Revs = npt.NDArray[np.int32]
Flags = TypeVar("Flags", bytearray, list[int])


def sweep(
    p1: Revs, p2: Revs, wanted: Iterable[int], common: Iterable[int], result: int, floor: int = 0
) -> Revs:
    """Revisions whose flags are exactly `result`, sorted, none below `floor`.

    WANTED: ancestors of `wanted` only. WANTED | COMMON: of both. Ends belong to themselves.
    Stops as soon as no revision further down can be in the result.
    """
    pending = dict.fromkeys(wanted, WANTED)
    for rev in common:
        pending[rev] = pending.get(rev, 0) | COMMON
    found: list[npt.NDArray[np.int64]] = []
    if _may_yield(pending, result):
        for low, flags in walk_down(p1, p2, pending, floor, bytearray):
            hits = np.flatnonzero(np.frombuffer(flags, dtype=np.uint8) == result)
            found.append(hits + low)
            if not _may_yield(pending, result):
                break
    if not found:
        return np.empty(0, dtype=np.int32)
    return np.concatenate(found[::-1]).astype(np.int32)


def walk_down(
    p1: Revs, p2: Revs, pending: dict[int, int], floor: int, zeros: Callable[[int], Flags]
) -> Iterator[tuple[int, Flags]]:
    """Hand flags from `pending` (revision -> flags) down to all ancestors, not below `floor`.

    Yields blocks from the highest down: the lowest revision of each, and the flags of it and
    those after it, final. `pending` then holds what is still to be handed down.
    """
    pending.pop(-1, None)
    size = FIRST_BLOCK
    while pending:
        top = max(pending) + 1
        if top <= floor:
            return
        low = max(top - size, floor)
        flags = zeros(top - low)
        for rev in [rev for rev in pending if rev >= low]:
            flags[rev - low] = pending.pop(rev)
        _hand_down(p1[low:top] - low, p2[low:top] - low, flags, low, pending)
        yield low, flags
        size = min(size * 2, LAST_BLOCK)


def _may_yield(pending: dict[int, int], result: int) -> bool:
    """WANTED alone dies with its last flag; "of both" needs each flag somewhere below."""
    if result == WANTED:
        return WANTED in pending.values()
    seen = 0
    for flags in pending.values():
        seen |= flags
        if seen & result == result:
            return True
    return False


def _hand_down(
    p1: Revs, p2: Revs, flags: MutableSequence[int], low: int, pending: dict[int, int]
) -> None:
    """Parents are numbers within the block; negative ones lie below it, the lowest is null."""
    null = -1 - low
    rows = zip(
        range(len(flags) - 1, -1, -1), reversed(p1.tolist()), reversed(p2.tolist()), strict=True
    )
    for rev, first, second in rows:
        mark = flags[rev]
        if not mark:
            continue
        if first >= 0:
            flags[first] |= mark
        elif first != null:
            pending[first + low] = pending.get(first + low, 0) | mark
        if second >= 0:
            flags[second] |= mark
        elif second != null:
            pending[second + low] = pending.get(second + low, 0) | mark
