"""One walk down the graph that answers "whose ancestor is this?" for two sides at once.

Flags are handed from a revision to its parents, block after block of revision numbers, from the
highest number down. Blocks grow from a few hundred to tens of thousands: a pull of five new
changesets looks at one small block, a clone runs at the speed of a plain loop, and no step is
taken over numbers that nobody points at. (A heap of numbers, as Mercurial's own
missing-ancestors has, costs ten times as much per revision in Python.)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

WANTED = 1
COMMON = 2
FIRST_BLOCK = 256  # revisions
LAST_BLOCK = 32768  # revisions

Revs = npt.NDArray[np.int32]


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
    pending.pop(-1, None)
    found: list[npt.NDArray[np.int64]] = []
    size = FIRST_BLOCK
    while _may_yield(pending, result):
        top = max(pending) + 1
        low = max(top - size, floor)
        if top <= floor:
            break
        flags = _take(pending, low, top)
        _hand_down(p1[low:top] - low, p2[low:top] - low, flags, low, pending)
        hits = np.flatnonzero(np.frombuffer(flags, dtype=np.uint8) == result)
        found.append(hits + low)
        size = min(size * 2, LAST_BLOCK)
    if not found:
        return np.empty(0, dtype=np.int32)
    return np.concatenate(found[::-1]).astype(np.int32)


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


def _take(pending: dict[int, int], low: int, top: int) -> bytearray:
    """Move the flags of low..top-1 out of `pending` into a block."""
    flags = bytearray(top - low)
    for rev in [rev for rev in pending if rev >= low]:
        flags[rev - low] = pending.pop(rev)
    return flags


def _hand_down(p1: Revs, p2: Revs, flags: bytearray, low: int, pending: dict[int, int]) -> None:
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
