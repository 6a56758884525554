from __future__ import annotations

import pytest

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, Node
from trunkline.hg.store.marker import Marker, format_markers
from trunkline.hg.store.obsmarkers import ObsMarkers, sorted_markers


def node(letter: str) -> Node:
    return Node(letter.encode() * 20)


def marker(old: str, *new: str, parents: str | None = None) -> Marker:
    found = None if parents is None else tuple(map(node, parents))
    return Marker(node(old), tuple(map(node, new)), 0, (), (0.0, 0), found)


def store(*markers: Marker) -> ObsMarkers:
    return ObsMarkers(b"".join(format_markers(markers, 1)))


def test_no_file_and_only_a_version_are_no_markers() -> None:
    for data in (b"", b"\1"):
        markers = ObsMarkers(data)
        assert not markers
        assert markers.all == []
        assert markers.relevant([node("a")]) == []


def test_relevant_goes_back_over_predecessors() -> None:
    chain = [marker("a", "b"), marker("b", "c"), marker("x", "y")]
    assert store(*chain).relevant([node("c")]) == chain[:2]


def test_relevant_doesnt_go_on_to_successors() -> None:
    assert store(marker("a", "b")).relevant([node("a")]) == []


def test_relevant_takes_prunes_of_a_changeset_and_of_its_children() -> None:
    prunes = [marker("a", parents="r"), marker("b", parents="s"), marker("c")]
    assert store(*prunes).relevant([node("r"), node("c")]) == [prunes[0], prunes[2]]


def test_a_rewritten_child_isnt_relevant() -> None:
    assert store(marker("a", "b", parents="r")).relevant([node("r")]) == []


def test_a_cycle_ends() -> None:
    ring = [marker("a", "b"), marker("b", "a")]
    assert store(*ring).relevant([node("a")]) == ring


def test_sorted_markers_puts_unrecorded_parents_first() -> None:
    several = [marker("a", parents="r"), marker("a"), marker("a", "b")]
    assert sorted_markers(several) == [several[1], several[0], several[2]]


def test_a_null_successor_is_damage() -> None:
    bad = Marker(node("a"), (NULL_NODE,), 0, (), (0.0, 0), None)
    with pytest.raises(StoreError, match="null"):
        _ = store(bad).all


@pytest.mark.parametrize("version", [0, 1])
def test_damage_says_where_the_marker_starts(version: int) -> None:
    marker = Marker(Node(b"a" * 20), (), 0, (), (0.0, 0), None)
    head, one = format_markers([marker], version)
    with pytest.raises(StoreError, match=rf"\[obsstore at byte {1 + len(one)}\]"):
        _ = ObsMarkers(head + one + one[:-1], "obsstore").all
