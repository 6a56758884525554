"""The graph against Mercurial's own (pure Python) walks on random histories."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mercurial import ancestor, dagop

from trunkline.hg.history import sweep
from trunkline.hg.history.graph import Graph

Parents = list[tuple[int, int]]


@pytest.fixture(autouse=True, params=[1, 3, 256])
def _block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks, so that a history of a few revisions crosses their borders."""
    monkeypatch.setattr(sweep, "FIRST_BLOCK", request.param)
    monkeypatch.setattr(sweep, "LAST_BLOCK", request.param * 4)


@st.composite
def histories(draw: st.DrawFn) -> Parents:
    parents: Parents = []
    for rev in range(draw(st.integers(1, 24))):
        p1 = draw(st.integers(max(-1, rev - 6), rev - 1))
        p2 = draw(st.integers(-1, rev - 1)) if draw(st.booleans()) else -1
        parents.append((p1, p2 if p1 not in (-1, p2) else -1))
    return parents


def graph_of(parents: Parents, filtered: frozenset[int] = frozenset()) -> Graph:
    columns = np.array(parents, dtype=np.int32).reshape(-1, 2)
    return Graph(columns[:, 0].copy(), columns[:, 1].copy(), filtered)


def sides(parents: Parents) -> st.SearchStrategy[set[int]]:
    return st.sets(st.integers(-1, len(parents) - 1), max_size=5)


def closure(parents: Parents, revs: set[int]) -> set[int]:
    return set(ancestor.lazyancestors(lambda rev: parents[rev], revs, inclusive=True)) - {-1}


@given(st.data())
def test_missing_is_mercurials(data: st.DataObject) -> None:
    parents = data.draw(histories())
    common, heads = data.draw(sides(parents)), data.draw(sides(parents))
    walk = ancestor.incrementalmissingancestors(
        lambda rev: parents[rev] if rev >= 0 else (-1, -1), common | {-1}
    )
    assert graph_of(parents).missing(common, heads).tolist() == walk.missingancestors(heads)


@given(st.data())
def test_ancestors_common_and_lazy_ancestors_are_the_closure(data: st.DataObject) -> None:
    parents = data.draw(histories())
    ours, theirs = data.draw(sides(parents)), data.draw(sides(parents))
    graph = graph_of(parents)
    assert graph.ancestors(ours).tolist() == sorted(closure(parents, ours))
    both = closure(parents, ours) & closure(parents, theirs)
    assert graph.common(ours, theirs).tolist() == sorted(both)
    lazy = graph.lazy_ancestors(ours)
    asked = data.draw(st.lists(st.integers(0, len(parents) - 1)))
    assert [rev in lazy for rev in asked] == [rev in closure(parents, ours) for rev in asked]


@given(st.data())
def test_range_is_mercurials(data: st.DataObject) -> None:
    parents = data.draw(histories())
    roots, heads = data.draw(sides(parents)), data.draw(sides(parents))
    oracle = dagop._reachablerootspure(
        lambda rev: parents[rev] if rev >= 0 else (-1, -1),
        min(roots, default=0),
        roots,
        heads,
        True,
    )
    found = graph_of(parents).range(roots, heads).tolist()
    assert found == sorted(rev for rev in oracle if rev >= 0)


@given(st.data())
def test_heads_are_visible_and_have_no_visible_child(data: st.DataObject) -> None:
    parents = data.draw(histories())
    hidden_roots = data.draw(sides(parents)) - {-1}
    filtered = frozenset(
        rev for rev in range(len(parents)) if closure(parents, {rev}) & hidden_roots
    )
    graph = graph_of(parents, filtered)
    seen = [rev for rev in range(len(parents)) if rev not in filtered]
    assert graph.all.tolist() == seen
    fathers = {parent for rev in seen for parent in parents[rev]}
    assert graph.heads.tolist() == [rev for rev in seen if rev not in fathers]
    assert graph.missing((), graph.heads.tolist()).tolist() == seen


@given(st.data())
def test_heads_among_and_parents_outside_a_set(data: st.DataObject) -> None:
    parents = data.draw(histories())
    revs = sorted(data.draw(sides(parents)) - {-1})
    graph = graph_of(parents)
    column = np.array(revs, dtype=np.int32)
    heads = dagop.headrevs(revs, lambda rev: parents[rev]) if revs else []
    assert graph.heads_among(column).tolist() == sorted(heads)
    outside = {parent for rev in revs for parent in parents[rev]} - set(revs) - {-1}
    assert graph.parents_outside(column).tolist() == sorted(outside)


def test_a_visible_child_of_a_filtered_revision_is_a_bug_of_ours() -> None:
    with pytest.raises(AssertionError, match="filtered parent"):
        graph_of([(-1, -1), (0, -1)], frozenset({0}))


def test_a_walk_that_starts_at_a_filtered_revision_is_a_bug_of_ours() -> None:
    with pytest.raises(AssertionError, match="filtered revision"):
        graph_of([(-1, -1), (0, -1)], frozenset({1})).ancestors({1})
