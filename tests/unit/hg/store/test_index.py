from __future__ import annotations

import numpy as np
import pytest

from trunkline.hg.node import Node
from trunkline.hg.store.index import ENTRY, ColumnIndex, Header, RowIndex

SPLIT = Header(is_inline=False, is_general_delta=True)


def entries(nodes: list[bytes]) -> bytes:
    packed = [
        ENTRY.pack(rev << 20, 1, 1, rev, rev, rev - 1, -1, node) for rev, node in enumerate(nodes)
    ]
    return b"\0\2\0\1" + b"".join(packed)[4:]


def test_nodes_that_start_alike_are_told_apart() -> None:
    nodes = [b"samehead" + bytes([n]) * 12 for n in (9, 1, 5)] + [b"otherone" + bytes(12)]
    index = ColumnIndex(entries(nodes), SPLIT)
    assert [index.rev(node) for node in nodes] == [0, 1, 2, 3]
    assert index.revs(nodes[::-1]).tolist() == [3, 2, 1, 0]
    assert index.rev(b"samehead" + b"\x07" * 12) is None
    assert index.revs([b"samehead" + b"\x07" * 12]).tolist() == [-2]
    assert sorted(index.revs_with_prefix(b"samehead".hex().encode(), 9)) == [0, 1, 2]
    assert len(index.revs_with_prefix(b"samehead".hex().encode())) == 2


class Counting(ColumnIndex):
    looked_at = 0

    def node(self, rev: int) -> Node:
        self.looked_at += 1
        return super().node(rev)


@pytest.mark.parametrize("seen", [[], [3], [0, 999], [5, 6, 7, 8]])
def test_prefix_passes_over_what_isnt_visible_at_once(seen: list[int]) -> None:
    nodes = [bytes([0x70 + n % 2, *[n % 7, n // 250, n % 250] * 6, 0]) for n in range(1000)]
    index = Counting(entries(nodes), SPLIT)
    visible = np.zeros(index.count, np.bool_)
    visible[seen] = True
    for prefix in (b"7", b"70", b"71", *(node.hex().encode() for node in nodes[:10])):
        expected = [rev for rev in seen if nodes[rev].hex().encode().startswith(prefix)]
        index.looked_at = 0
        found = index.revs_with_prefix(prefix, ranks=index.ranks(visible))
        assert set(found) <= set(expected)
        assert len(found) == min(2, len(expected)) == index.looked_at


def test_node_that_ends_in_nul_keeps_its_length() -> None:
    index = ColumnIndex(entries([b"x" * 19 + b"\0"]), SPLIT)
    assert index.node(0) == b"x" * 19 + b"\0"
    assert index.rev(b"x" * 19 + b"\0") == 0


def test_learning_keeps_nodes_that_start_alike() -> None:
    nodes = [b"samehead" + bytes([n]) * 12 for n in (9, 1, 5)]
    data = entries(nodes)
    older = ColumnIndex(data[:64], SPLIT)
    assert older.rev(nodes[0]) == 0
    newer = ColumnIndex(data, SPLIT)
    newer.learn(older)
    assert newer.revs(nodes).tolist() == [0, 1, 2]


@pytest.mark.parametrize("nodes", [[b"short"], [bytes(21), bytes(19)]])
def test_revs_refuses_what_is_no_node(nodes: list[bytes]) -> None:
    index = ColumnIndex(entries([b"\1" * 20]), SPLIT)
    if len(b"".join(nodes)) % 20:
        with pytest.raises(ValueError, match="20 bytes"):
            index.revs(nodes)
    else:
        assert len(index.revs(nodes)) == 2


def test_columns_are_the_entries() -> None:
    index = ColumnIndex(entries([bytes([n]) * 20 for n in range(1, 6)]), SPLIT)
    assert index.p1.tolist() == [-1, 0, 1, 2, 3]
    assert index.p2.tolist() == [-1] * 5
    assert index.linkrevs.tolist() == [0, 1, 2, 3, 4]
    assert index.offsets.tolist() == [0, 16, 32, 48, 64]
    assert index.flags.tolist() == [0] * 5


@pytest.mark.parametrize("rev", [-1, 5])
def test_a_revision_that_is_not_there_is_an_index_error(rev: int) -> None:
    data = entries([bytes([n]) * 20 for n in range(1, 6)])
    for index in (ColumnIndex(data, SPLIT), RowIndex(data)):
        with pytest.raises(IndexError):
            index.row(rev)
