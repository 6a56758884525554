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

BLOCK = 65536  # revisions whose parents are plain lists at a time


def branch_heads(graph: Graph, branches: npt.NDArray[Any], counted: Mask) -> dict[int, list[int]]:
    """Branch number -> its heads, lowest first.

    `branches`: the branch number of each revision. `counted`: the revisions that count.
    """
    candidates = np.flatnonzero(counted & ~has_child_on_branch(graph, branches, counted))
    heads: dict[int, list[int]] = {}
    pairs = zip(candidates.tolist(), branches[candidates].tolist(), strict=True)
    for rev, branch in pairs:
        heads.setdefault(branch, []).append(rev)
    for rev, branch in overtaken(graph, heads):
        heads[branch].remove(rev)
    return heads


def has_child_on_branch(graph: Graph, branches: npt.NDArray[Any], counted: Mask) -> Mask:
    """One truth per revision: has it a counted child on the same branch?"""
    marks = np.zeros(graph.count, dtype=np.bool_)
    for column in (graph.p1, graph.p2):
        children = np.flatnonzero(counted & (column >= 0))
        parents = column[children]
        marks[parents[branches[parents] == branches[children]]] = True
    return marks


def overtaken(graph: Graph, candidates: dict[int, list[int]]) -> list[tuple[int, int]]:
    """Candidates (and their branch) that a later candidate of the branch descends from, by a way
    that leaves the branch. One walk for all branches: a bit for each, handed to the parents.
    """
    doubtful: dict[int, int] = {}
    bits: dict[int, int] = {}
    for branch, revs in candidates.items():
        unsure = [rev for rev in revs[:-1] if graph.has_child[rev]]
        if unsure:
            doubtful.update(dict.fromkeys(unsure, branch))
            bits[branch] = 1 << len(bits)
    if not doubtful:
        return []
    starts = {rev: bits[branch] for branch in bits for rev in candidates[branch]}
    lost: list[tuple[int, int]] = []
    carried: dict[int, int] = {}
    low, high = min(doubtful), max(starts)
    for start in range(high + 1 - BLOCK, low - BLOCK, -BLOCK):
        first, last = max(start, low), start + BLOCK
        p1, p2 = graph.p1[first:last].tolist(), graph.p2[first:last].tolist()
        for rev in range(last - 1, first - 1, -1):
            mark = carried.pop(rev, 0)
            bit = starts.get(rev, 0)
            if mark & bit and rev in doubtful:
                lost.append((rev, doubtful[rev]))
            mark |= bit
            if mark:
                for parent in (p1[rev - first], p2[rev - first]):
                    if parent >= low:
                        carried[parent] = carried.get(parent, 0) | mark
    return lost
