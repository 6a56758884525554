"""The changeset graph: parents of each revision number, and the questions asked about it.

A parent's number is always below its child's, so every walk goes through revision numbers from
high to low (or low to high) and never recurses. Source: hg 7.2.4, mercurial/{ancestor,dagop}.py
for the meaning of `missing`, `range` and `heads`; the way of computing them is our own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trunkline.hg.history.ancestors import LazyAncestors
from trunkline.hg.history.sweep import COMMON, WANTED, sweep

Revs = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

NO_REVS: Revs = np.empty(0, dtype=np.int32)


class Graph:
    """Parents as two columns, -1 for none; `filtered` are the revisions this view doesn't have.

    Filtered revisions are closed under "descendant of": no visible revision has a filtered
    ancestor. So a walk that starts at visible revisions meets visible ones only; the results are
    checked for that, as a leak would be worse than a stop.

    Every method takes revision numbers that the view has; the caller turns nodes into numbers and
    answers the unknown ones. Results are sorted int32 arrays: `.tolist()` before a plain loop.
    """

    def __init__(
        self, p1: Revs, p2: Revs, filtered: Collection[int] = frozenset(), check: bool = True
    ) -> None:
        self.p1, self.p2 = p1, p2
        self.count = len(p1)
        self.filtered = filtered
        if check and filtered:
            self._check_closed()

    @cached_property
    def visible(self) -> Mask:
        """One truth per revision: is it in the view?"""
        mask = np.ones(self.count, dtype=np.bool_)
        if self.filtered:
            mask[np.fromiter(self.filtered, np.int64, len(self.filtered))] = False
        return mask

    @cached_property
    def has_child(self) -> Mask:
        """One truth per revision: has it a child that is in the view?"""
        marks = np.zeros(self.count + 1, dtype=np.bool_)  # the last one is the null revision's
        if self.filtered:
            marks[self.p1[self.visible]] = True
            marks[self.p2[self.visible]] = True
        else:
            marks[self.p1] = True
            marks[self.p2] = True
        return marks[:-1]

    @cached_property
    def heads(self) -> Revs:
        """Visible revisions without a visible child, lowest first."""
        return np.flatnonzero(self.visible & ~self.has_child).astype(np.int32)

    @cached_property
    def all(self) -> Revs:
        """Every visible revision."""
        return np.flatnonzero(self.visible).astype(np.int32)

    def parents(self, rev: int) -> tuple[int, int]:
        return (-1, -1) if rev < 0 else (int(self.p1[rev]), int(self.p2[rev]))

    def missing(self, common: Iterable[int], heads: Iterable[int]) -> Revs:
        """Ancestors of `heads` (and they) that aren't ancestors of `common` (nor they).

        Costs what lies between the highest and the lowest revision looked at, not the whole graph.
        """
        common = {rev for rev in common if rev >= 0}
        heads = {rev for rev in heads if rev >= 0} - common
        if not heads:
            return NO_REVS
        if not common and len(heads) >= len(self.heads) and heads.issuperset(self.heads.tolist()):
            return self.all
        return self._checked(sweep(self.p1, self.p2, heads, common, WANTED))

    def ancestors(self, revs: Iterable[int], floor: int = 0) -> Revs:
        """`revs` and their ancestors, as far down as `floor`."""
        heads = {rev for rev in revs if rev >= floor}
        return self._checked(sweep(self.p1, self.p2, heads, (), WANTED, floor))

    def lazy_ancestors(self, revs: Iterable[int]) -> LazyAncestors:
        """`revs` and their ancestors as a set that is walked only as far as it is asked about."""
        return LazyAncestors(self.p1, self.p2, revs)

    def common(self, ours: Iterable[int], theirs: Iterable[int]) -> Revs:
        """Ancestors that both sides share. Linear in the graph below the highest of them."""
        ours, theirs = set(ours) - {-1}, set(theirs) - {-1}
        return self._checked(sweep(self.p1, self.p2, ours, theirs, WANTED | COMMON))

    def range(self, roots: Iterable[int], heads: Iterable[int]) -> Revs:
        """Descendants of `roots` that are ancestors of `heads`, ends included: `roots::heads`.

        The null revision as a root stands for everything.
        """
        wanted = set(roots)
        if -1 in wanted:
            return self.missing((), heads)
        if not wanted:
            return NO_REVS
        below = self.ancestors(heads, floor=min(wanted))
        kept: set[int] = set()
        keep = kept.add
        rows = zip(below.tolist(), self.p1[below].tolist(), self.p2[below].tolist(), strict=True)
        for rev, p1, p2 in rows:
            if rev in wanted or p1 in kept or p2 in kept:
                keep(rev)
        return np.array(sorted(kept), dtype=np.int32)

    def parents_outside(self, revs: Revs) -> Revs:
        """Parents of `revs` that aren't among `revs` (sorted, null left out): where they stand."""
        parents = np.union1d(self.p1[revs], self.p2[revs])
        outside = np.setdiff1d(parents, revs, assume_unique=True)
        return outside[outside >= 0].astype(np.int32)

    def heads_among(self, revs: Revs) -> Revs:
        """Those of the set `revs` that are no parent of another one of it."""
        parents = np.union1d(self.p1[revs], self.p2[revs])
        return np.setdiff1d(revs, parents).astype(np.int32)

    def _checked(self, revs: Revs) -> Revs:
        assert not self.filtered or bool(self.visible[revs].all()), "a filtered revision was met"
        return revs

    def _check_closed(self) -> None:
        hidden = np.append(~self.visible, False)
        inherited = (hidden[self.p1] | hidden[self.p2]) & self.visible
        assert not inherited.any(), "a visible revision has a filtered parent"
