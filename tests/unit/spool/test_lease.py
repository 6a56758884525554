"""Time is told, not waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from trunkline.spool.lease import FREE_SECONDS, LEASE_SECONDS, Sign, Watch, hold, is_free, try_hold


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The same file opened twice: by its maker, and by a reader."""
    path = tmp_path / "file"
    path.write_bytes(b"")
    opened = os.open(path, os.O_RDWR), os.open(path, os.O_RDONLY)
    yield opened
    for descriptor in opened:
        try:
            os.close(descriptor)
        except OSError:
            pass


def sign(watch: Watch, descriptor: int) -> Sign:
    return watch.look(os.fstat(descriptor))


def test_lock_falls_with_its_holder(pair: tuple[int, int]) -> None:
    maker, reader = pair
    assert is_free(reader)
    hold(maker)
    assert not is_free(reader)
    assert not try_hold(reader)
    os.close(maker)
    assert is_free(reader)
    assert try_hold(reader)


def test_local_maker_is_alive_while_it_holds_the_lock(pair: tuple[int, int]) -> None:
    maker, reader = pair
    clock = Clock()
    watch = Watch(reader, True, clock)
    hold(maker)
    os.write(maker, b"some")
    for _ in range(5):
        assert sign(watch, reader) is Sign.ALIVE
        clock.now += 3600
    os.close(maker)
    assert sign(watch, reader) is Sign.DEAD


def test_claim_that_is_not_locked_yet_is_given_a_moment(pair: tuple[int, int]) -> None:
    maker, reader = pair
    clock = Clock()
    watch = Watch(reader, True, clock)
    assert sign(watch, reader) is Sign.UNKNOWN
    clock.now += FREE_SECONDS * 0.9
    assert sign(watch, reader) is Sign.UNKNOWN
    hold(maker)
    clock.now += FREE_SECONDS
    assert sign(watch, reader) is Sign.ALIVE
    os.close(maker)
    assert sign(watch, reader) is Sign.DEAD


def test_far_maker_is_alive_when_anything_changes(pair: tuple[int, int]) -> None:
    """Whatever its clock says."""
    maker, reader = pair
    clock = Clock()
    watch = Watch(reader, False, clock)
    assert sign(watch, reader) is Sign.UNKNOWN
    for jump in (5, -86_400, 86_400 * 365, 9):
        clock.now += LEASE_SECONDS * 0.9
        os.utime(maker, (1_700_000_000 + jump,) * 2)
        assert sign(watch, reader) is Sign.ALIVE
    clock.now += LEASE_SECONDS * 0.9
    assert sign(watch, reader) is Sign.UNKNOWN
    clock.now += LEASE_SECONDS * 0.2
    assert sign(watch, reader) is Sign.DEAD


def test_lock_says_nothing_where_it_cannot_be_trusted(pair: tuple[int, int]) -> None:
    maker, reader = pair
    clock = Clock()
    watch = Watch(reader, False, clock)
    hold(maker)
    assert sign(watch, reader) is Sign.UNKNOWN
    clock.now += LEASE_SECONDS
    assert sign(watch, reader) is Sign.DEAD
