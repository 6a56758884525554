"""Heads of named branches.

A changeset is a head of its branch when no other changeset of the branch descends from it; it may
have children on other branches. Changesets that don't count (hidden, obsolete) neither are heads
nor keep others from being heads, but descent goes through them.

Source: hg 7.2.4, mercurial/branchmap.py for the meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trunkline.hg.history.graph import Graph, Mask
from trunkline.hg.history.sweep import walk_down


def branch_heads(graph: Graph, branches: npt.NDArray[Any], counted: Mask) -> dict[int, list[int]]:
    """Branch number -> its heads, lowest first.

    `branches`: the branch number of each revision. `counted`: the revisions that count.
    """
    candidates = np.flatnonzero(counted & ~has_child_on_branch(graph, branches, counted))
    heads: dict[int, list[int]] = {}
    pairs = zip(candidates.tolist(), branches[candidates].tolist(), strict=True)
    for rev, branch in pairs:
        heads.setdefault(branch, []).append(rev)
    lost = overtaken(graph, heads)
    for branch in set(lost.values()):
        heads[branch] = [rev for rev in heads[branch] if rev not in lost]
    return heads


def has_child_on_branch(graph: Graph, branches: npt.NDArray[Any], counted: Mask) -> Mask:
    """One truth per revision: has it a counted child on the same branch?"""
    marks = np.zeros(graph.count, dtype=np.bool_)
    for column in (graph.p1, graph.p2):
        children = np.flatnonzero(counted & (column >= 0))
        parents = column[children]
        marks[parents[branches[parents] == branches[children]]] = True
    return marks


def overtaken(graph: Graph, candidates: dict[int, list[int]]) -> dict[int, int]:
    """Candidates (and their branch) that a later candidate of the branch descends from, by a way
    that leaves the branch. One walk for all branches: each has a bit, handed down from parents of
    its candidates.
    """
    doubtful: dict[int, tuple[int, int]] = {}
    pending: dict[int, int] = {}
    for branch, revs in candidates.items():
        unsure = [rev for rev in revs[:-1] if graph.has_child[rev]]
        if unsure:
            bit = 1 << len(doubtful)
            doubtful.update(dict.fromkeys(unsure, (branch, bit)))
            for parent in (parent for rev in revs for parent in graph.parents(rev)):
                pending[parent] = pending.get(parent, 0) | bit
    lost: dict[int, int] = {}
    unseen = sorted(doubtful)
    floor = unseen[0] if unseen else graph.count
    for low, flags in walk_down(graph.p1, graph.p2, pending, floor, zeros):
        while unseen and unseen[-1] >= low:
            rev = unseen.pop()
            branch, bit = doubtful[rev]
            if rev - low < len(flags) and flags[rev - low] & bit:
                lost[rev] = branch
    return lost


def zeros(length: int) -> list[int]:
    return [0] * length
