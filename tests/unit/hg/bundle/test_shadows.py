"""Finding in manifest deltas which outside file revisions sent changesets bring again."""

from __future__ import annotations

import pytest

from trunkline.errors import StoreError
from trunkline.hg.bundle.shadows import FEW, Shadows
from trunkline.hg.store.delta import HUNK
from trunkline.hg.store.index import ENTRY, RowIndex
from trunkline.hg.store.revlog import Revlog

NODE = bytes(range(20))
OTHER = bytes(range(20, 40))
ROWS = [ENTRY.pack(at << 16, 70, 70, rev, rev, -1, -1, NODE) for rev, at in enumerate((0, 70, 140))]
LOG = Revlog("/00manifest.i", RowIndex(b"\0\2\0\1" + b"".join(ROWS)[4:]))


def line(path: bytes, node: bytes, flag: bytes = b"") -> bytes:
    return path + b"\0" + node.hex().encode() + flag + b"\n"


def hunk(text: bytes, start: int = 0, end: int = 0) -> bytes:
    return HUNK.pack(start, end, len(text)) + text


@pytest.fixture(params=[0, FEW + 1])
def shadows(request: pytest.FixtureRequest) -> Shadows:
    """Alone, and among so many that another way of looking is taken."""
    shadows = Shadows()
    assert not shadows
    shadows.add(b"a", NODE)
    for number in range(request.param):
        shadows.add(b"x", bytes([number]) * 20)
    assert shadows
    return shadows


def test_line_in_a_hunk_is_found_with_the_lowest_changeset(shadows: Shadows) -> None:
    delta = hunk(line(b"0", OTHER)) + hunk(line(b"Z", OTHER) + line(b"a", NODE, b"x"), 80, 90)
    assert list(shadows.watch(LOG, [0, 1, 2], [delta, b"", delta], [0, 0, 1], [7, 1, 5])) == [
        delta,
        b"",
        delta,
    ]
    assert shadows.found(b"a") == {NODE: 5}
    assert shadows.found(b"Z") == {}


def test_line_of_a_full_text_is_found(shadows: Shadows) -> None:
    shadows.look(LOG, 0, line(b"Z", OTHER) + line(b"a", NODE), True, 3)
    assert shadows.found(b"a") == {NODE: 3}


def test_same_node_of_another_file_is_none_of_it(shadows: Shadows) -> None:
    shadows.look(LOG, 1, hunk(line(b"b", NODE)), False, 3)
    assert shadows.found(b"a") == shadows.found(b"b") == {}


def test_torn_delta_is_damage(shadows: Shadows) -> None:
    with pytest.raises(StoreError, match="cut short") as caught:
        shadows.look(LOG, 1, hunk(line(b"a", NODE))[:-1], False, 3)
    assert (caught.value.path, caught.value.offset) == ("/00manifest.d", 70)
