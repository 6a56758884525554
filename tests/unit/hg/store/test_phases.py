from __future__ import annotations

import numpy as np
import pytest

from trunkline.errors import StoreError
from trunkline.hg.node import Node, Rev
from trunkline.hg.store.phases import (
    ARCHIVED,
    DRAFT,
    INTERNAL,
    PUBLIC,
    SECRET,
    Phases,
    format_heads,
    parse_roots,
)

HEX = b"ab" * 20
NODE = Node(bytes.fromhex(HEX.decode()))
# 0 - 1 - 2 - 3    4 is a root; 5 merges 2 and 4; 6 is a child of 4
P1 = np.array([-1, 0, 1, 2, -1, 2, 4], dtype=np.int32)
P2 = np.array([-1, -1, -1, -1, -1, 4, -1], dtype=np.int32)


def phases(**roots: int) -> Phases:
    numbers = {"draft": DRAFT, "secret": SECRET, "archived": ARCHIVED, "internal": INTERNAL}
    found = {numbers[name]: frozenset([Rev(rev)]) for name, rev in roots.items()}
    return Phases(found, P1, P2)


def all_of(given: Phases) -> list[int]:
    return [given.phase(rev) for rev in range(-1, 7)]


def test_all_is_public_without_roots() -> None:
    given = phases()
    assert all_of(given) == [PUBLIC] * 8
    assert given.lowest_root is None
    assert given.mutable == given.secret == given.local_only == frozenset()


def test_a_merge_has_the_higher_phase_of_its_parents() -> None:
    given = phases(draft=1, secret=4)
    assert all_of(given) == [0, 0, 1, 1, 1, 2, 2, 2]
    assert given.lowest_root == 1
    assert given.mutable == {1, 2, 3, 4, 5, 6}
    assert given.secret == {4, 5, 6}


def test_a_lower_root_above_a_higher_one_changes_nothing() -> None:
    assert all_of(phases(secret=1, draft=3)) == [0, 0, 2, 2, 2, 0, 2, 0]


def test_archived_and_internal_count_as_secret() -> None:
    given = phases(draft=0, archived=3, internal=6)
    assert given.secret == given.local_only == {3, 6}
    assert (given.phase(3), given.phase(6)) == (32, 96)


def test_parse_roots_reads_each_line() -> None:
    assert parse_roots(b"1 %b\n96 %b\n" % (HEX, HEX)) == [(1, NODE), (96, NODE)]
    assert parse_roots(b"") == []


@pytest.mark.parametrize(
    "line",
    [b"1", b"x " + HEX, b"1 " + HEX[:-1], b"1 " + HEX[:-1] + b"g", b"3 " + HEX, b"1 %b 2" % HEX],
)
def test_a_bad_line_is_damage_and_its_place_is_told(line: bytes) -> None:
    with pytest.raises(StoreError) as caught:
        parse_roots(b"1 %b\n%b\n" % (HEX, line), "/phaseroots")
    assert (caught.value.path, caught.value.offset) == ("/phaseroots", 43)


def test_format_heads_is_a_number_and_a_node_each() -> None:
    assert format_heads([(PUBLIC, NODE), (DRAFT, NODE)]) == (
        b"\0\0\0\0" + NODE + b"\0\0\0\1" + NODE
    )
