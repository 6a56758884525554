from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from trunkline.spool.lease import hold
from trunkline.spool.place import Place, open_place
from trunkline.spool.room import (
    CALM_SECONDS,
    FAR_CALM_SECONDS,
    Limits,
    clear,
    list_entries,
    make_room,
)
from trunkline.spool.uses import Use

KIB = 1024
MUCH = Limits(bytes=100 * KIB, free_bytes=0, age_seconds=1000)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return replace(open_place(str(tmp_path / "spool")), is_local=True)


def put(place: Place, name: str, ago: float, uses: int = 1, kind: str = "whole") -> None:
    """A file of 10 KiB that was last used so many seconds ago."""
    now = place.now()
    for suffix, size in ((kind, 10 * KIB), ("uses", uses)):
        path = f"{place.folder}/{name}.{suffix}"
        Path(path).write_bytes(b"x" * size)
        os.utime(path, (now - ago, now - ago))


def names(place: Place) -> list[str]:
    return [entry.name for entry in list_entries(place)]


def test_entries_are_in_the_order_of_their_last_use(place: Place) -> None:
    put(place, "new", 1, uses=3)
    put(place, "old", 50)
    put(place, "made", 20, kind="part")
    Path(place.folder, "slot-host-0").write_bytes(b"")
    assert names(place) == ["old", "made", "new"]
    old, made, new = list_entries(place)
    assert (old.size, old.uses, old.is_whole) == (10 * KIB, 1, True)
    assert (made.is_whole, new.uses) == (False, 3)


def test_nothing_goes_while_there_is_room(place: Place) -> None:
    for number in range(10):
        put(place, str(number), 100 - number)
    assert make_room(place, MUCH)
    assert len(names(place)) == 10


def test_oldest_go_first_and_no_more_than_needed(place: Place) -> None:
    for number in range(10):
        put(place, str(number), 100 - number)
    assert make_room(place, MUCH, wanted=15 * KIB)
    assert names(place) == [str(number) for number in range(2, 10)]


def test_what_can_never_fit_throws_nothing_out(place: Place) -> None:
    put(place, "a", 50)
    assert not make_room(place, MUCH, wanted=101 * KIB)
    assert names(place) == ["a"]


def test_free_space_of_the_disk_has_a_floor(place: Place) -> None:
    put(place, "a", 50)
    disk = os.statvfs(place.folder)
    assert not make_room(place, replace(MUCH, free_bytes=disk.f_blocks * disk.f_frsize))
    assert names(place) == []


def test_what_is_read_stays(place: Place) -> None:
    put(place, "a", 5000)
    put(place, "b", 4000)
    reader = Use(place, "a")
    assert make_room(place, replace(MUCH, bytes=15 * KIB))
    assert names(place) == ["a"]
    assert [entry.name for entry in clear(place)] == []
    reader.close()
    assert [entry.name for entry in clear(place)] == ["a"]
    assert names(place) == []


def test_what_is_too_old_goes(place: Place) -> None:
    put(place, "a", 1001)
    put(place, "b", 999)
    put(place, "future", -5000)  # a clock that jumped
    assert make_room(place, MUCH)
    assert names(place) == ["b", "future"]


def test_leftovers_go_and_what_is_made_stays(place: Place) -> None:
    for name in ("left", "made", "young"):
        put(place, name, 0 if name == "young" else CALM_SECONDS + 1, kind="part")
    put(place, "lost", CALM_SECONDS + 1)
    os.unlink(place.whole("lost"))  # only its count of uses is there
    maker = os.open(place.part("made"), os.O_RDWR)
    hold(maker)
    assert make_room(place, MUCH)
    assert names(place) == ["made", "young"]
    os.close(maker)


def test_far_files_stay_while_their_times_are_young(place: Place) -> None:
    far = replace(place, is_local=False)
    for name, kind in (("made", "part"), ("read", "whole")):
        put(place, name, FAR_CALM_SECONDS - 5, kind=kind)
    assert clear(far) == []
    for name, kind in (("made", "part"), ("read", "whole")):
        put(place, name, FAR_CALM_SECONDS + 5, kind=kind)
    assert [entry.name for entry in clear(far)] == ["made", "read"]
