"""The base of each delta that is sent, by stock's order of choice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from trunkline.errors import StoreError
from trunkline.hg.bundle.bases import Bases, Known, chain_bases
from trunkline.hg.bundle.logs import RowLog
from trunkline.hg.store.index import ENTRY, FLAG_GENERAL_DELTA, REVLOGV1
from trunkline.hg.store.revlog import FLAG_CENSORED, open_rows

Row = tuple[int, int, int, int]  # base, p1, p2, flags


def log(path: Path, rows: Sequence[Row]) -> RowLog:
    data = b"".join(
        ENTRY.pack(flags, 0, 9, base, rev, p1, p2, bytes([rev]) * 20)
        for rev, (base, p1, p2, flags) in enumerate(rows)
    )
    header = (REVLOGV1 | FLAG_GENERAL_DELTA).to_bytes(4, "big")
    (path / "a.i").write_bytes(header + data[4:])
    return RowLog(open_rows(str(path / "a.i")), len(rows))


# 0 - 1 - 2 - 4 ; 3 on 1; 5 merges 3 and 4. 4 is stored against 3, which isn't its ancestor.
ROWS = [
    (0, -1, -1, 0),
    (0, 0, -1, 0),
    (1, 1, -1, 0),
    (1, 1, -1, 0),
    (3, 2, -1, 0),
    (0, 4, 3, 0),
]


@pytest.mark.parametrize(
    ("sent", "chosen"),
    [
        ([0, 1, 2, 3, 4, 5], [-1, 0, 1, 1, 3, 0]),
        ([1, 2, 3], [0, 1, 1]),
        ([2, 4], [1, 2]),  # 3 is not there: p1 instead
        ([5], [0]),  # 0 is an ancestor of what the client must have
        ([4], [2]),
    ],
)
def test_stored_delta_is_kept_where_its_base_is_there(
    tmp_path: Path, sent: list[int], chosen: list[int]
) -> None:
    found = log(tmp_path, ROWS)
    first = found.parents(sent[:1])[0][0]
    assert Bases(found, sent, len(sent) == len(ROWS)).choose(sent, first) == chosen


def test_in_despair_it_is_the_one_before(tmp_path: Path) -> None:
    """A root stored against something that isn't there."""
    found = log(tmp_path, [(0, -1, -1, 0), (1, -1, -1, 0), (0, -1, -1, 0), (2, 2, -1, 0)])
    assert Bases(found, [1, 2, 3], False).choose([1, 2, 3], -1) == [-1, 1, 2]
    assert Bases(found, [2, 3], False).choose([2, 3], -1) == [-1, 2]


def test_choice_goes_on_over_runs(tmp_path: Path) -> None:
    found = log(tmp_path, [(0, -1, -1, 0), (1, -1, -1, 0), (0, -1, -1, 0)])
    bases = Bases(found, [1, 2], False)
    assert bases.choose([1], -1) + bases.choose([2], 1) == [-1, 1]


@pytest.mark.parametrize("is_whole", [True, False])
def test_no_delta_from_or_against_a_censored_one(tmp_path: Path, is_whole: bool) -> None:
    rows = [(0, -1, -1, 0), (0, 0, -1, FLAG_CENSORED), (1, 1, -1, 0), (2, 2, -1, 0)]
    found = log(tmp_path, rows)
    sent = range(4) if is_whole else [1, 2, 3]
    assert Bases(found, sent, is_whole).choose(sent, -1)[-3:] == [-1, -1, 2]


def test_delta_against_a_later_one_is_damage(tmp_path: Path) -> None:
    found = log(tmp_path, [(0, -1, -1, 0), (2, 0, -1, 0), (0, 1, -1, 0)])
    with pytest.raises(StoreError, match=r"revision 1 is a delta against 2 .*a\.i at byte 64\]"):
        Bases(found, range(3), True).choose(range(3), -1)


def test_known_is_ancestors_and_no_more(tmp_path: Path) -> None:
    known = Known(log(tmp_path, ROWS), {4})
    assert [rev for rev in (5, 4, 3, 2, 1, 0) if rev in known] == [4, 2, 1, 0]
    assert 3 not in Known(log(tmp_path, ROWS), set())


def test_version_01_makes_a_chain() -> None:
    assert chain_bases([4, 6, 9], 2) == [2, 4, 6]
