"""Branch heads against their definition, worked out the slow way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.hg.history.test_graph import closure, graph_of, histories

from trunkline.hg.history import sweep
from trunkline.hg.history.branch_heads import branch_heads


@pytest.fixture(autouse=True, params=[1, 4, 256])
def _block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "FIRST_BLOCK", request.param)
    monkeypatch.setattr(sweep, "LAST_BLOCK", request.param)


@given(st.data())
def test_a_head_is_counted_and_nothing_counted_on_its_branch_descends_from_it(
    data: st.DataObject,
) -> None:
    parents = data.draw(histories())
    count = len(parents)
    branches = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    counted = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    expected: dict[int, list[int]] = {}
    for rev in range(count):
        heirs = [
            other
            for other in range(rev + 1, count)
            if counted[other]
            and branches[other] == branches[rev]
            and rev in closure(parents, {other})
        ]
        if counted[rev] and not heirs:
            expected.setdefault(branches[rev], []).append(rev)
    found = branch_heads(graph_of(parents), np.array(branches), np.array(counted, dtype=np.bool_))
    assert found == expected
