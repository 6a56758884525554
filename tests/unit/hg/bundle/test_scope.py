"""Sent, known and outside changesets."""

from __future__ import annotations

import numpy as np
import pytest

from trunkline.hg.bundle.scope import OUTSIDE, SENT, find_outside, make_scope
from trunkline.hg.history.graph import Graph

# 0 - 1 - 2 - 5      3 and 4 are beside each other on 1
PARENTS = [-1, 0, 1, 1, 1, 2]


def graph(filtered: set[int]) -> Graph:
    p1 = np.array(PARENTS, np.int32)
    return Graph(p1, np.full(len(p1), -1, np.int32), filtered)


@pytest.mark.parametrize(
    ("filtered", "common", "heads", "outside"),
    [
        (set(), [], [3, 4, 5], []),
        (set(), [1], [3, 4, 5], []),
        ({4}, [], [3, 5], [4]),
        ({2, 5}, [0], [3, 4], [2, 5]),
        (set(), [], [5], [3, 4]),
        (set(), [4], [5], [3]),
        ({4}, [], [5], [3, 4]),
        (set(), [5], [1], [3, 4]),
    ],
)
def test_outside_is_what_neither_side_is_about(
    filtered: set[int], common: list[int], heads: list[int], outside: list[int]
) -> None:
    assert find_outside(graph(filtered), common, heads).tolist() == outside


def test_marks_tell_the_three_apart() -> None:
    scope = make_scope(np.array([2, 5], np.int32), np.array([4], np.int32), 6)
    assert list(scope.marks) == [0, 0, SENT, 0, OUTSIDE, SENT]
    assert not scope.is_whole
    assert make_scope(np.arange(6, dtype=np.int32), np.empty(0, np.int32), 6).is_whole
