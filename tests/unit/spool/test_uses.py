from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.spool.test_lease import Clock

from trunkline.spool.lease import LEASE_SECONDS
from trunkline.spool.place import Place, open_place
from trunkline.spool.uses import GRACE_SECONDS, Audience, Use


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return replace(open_place(str(tmp_path / "spool")), is_local=True)


def test_audience_is_gone_some_time_after_the_last_reader(place: Place) -> None:
    clock = Clock()
    audience = Audience(place, "a", clock)
    clock.now += GRACE_SECONDS * 0.9  # the first is still on its way
    assert not audience.is_gone()
    readers = [Use(place, "a"), Use(place, "a")]
    for reader in readers:
        clock.now += 3600
        assert not audience.is_gone()
        reader.close()
    clock.now += GRACE_SECONDS * 0.9
    assert not audience.is_gone()
    clock.now += GRACE_SECONDS
    assert audience.is_gone()


def test_far_audience_is_gone_when_nothing_moves(place: Place) -> None:
    clock = Clock()
    far = replace(place, is_local=False)
    reader = Use(far, "a")
    audience = Audience(far, "a", clock)
    for moment in (5, 4, 3):
        os.utime(place.uses("a"), (moment, moment))
        clock.now += LEASE_SECONDS * 0.9
        assert not audience.is_gone()
    clock.now += LEASE_SECONDS
    assert audience.is_gone()
    reader.close()


def test_use_of_a_removed_file_is_of_its_successor(place: Place) -> None:
    first = Use(place, "a")
    first.count()
    first.count()
    assert os.stat(place.uses("a")).st_size == 2
    os.unlink(place.uses("a"))
    second = Use(place, "a")
    second.count()
    assert os.stat(place.uses("a")).st_size == 1
    first.close()
    second.close()
