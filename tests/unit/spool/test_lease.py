"""Time is told, not waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from trunkline.spool.lease import FREE_SECONDS, LEASE_SECONDS, Watch, hold, is_free, try_hold


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


def dead(watch: Watch, descriptor: int) -> bool:
    return watch.is_dead(os.fstat(descriptor))


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
    for _ in range(5):
        assert not dead(watch, reader)
        clock.now += 3600
    os.close(maker)
    assert dead(watch, reader)


def test_free_lock_counts_when_it_stays_free(pair: tuple[int, int]) -> None:
    """A claim is made first and locked then."""
    maker, reader = pair
    clock = Clock()
    watch = Watch(reader, True, clock)
    assert not dead(watch, reader)
    clock.now += FREE_SECONDS * 0.9
    assert not dead(watch, reader)
    hold(maker)
    clock.now += FREE_SECONDS
    assert not dead(watch, reader)
    os.close(maker)
    clock.now += FREE_SECONDS
    assert dead(watch, reader)


def test_far_maker_is_alive_while_anything_changes(pair: tuple[int, int]) -> None:
    maker, reader = pair
    clock = Clock()
    watch = Watch(reader, False, clock)
    for jump in (0, -86_400, 86_400 * 365, 5):  # its clock may say what it likes
        os.utime(maker, (1_700_000_000 + jump,) * 2)
        assert not dead(watch, reader)
        clock.now += LEASE_SECONDS * 0.9
        assert not dead(watch, reader)
    clock.now += LEASE_SECONDS * 0.2
    assert dead(watch, reader)


def test_lock_says_nothing_where_it_cannot_be_trusted(pair: tuple[int, int]) -> None:
    maker, reader = pair
    clock = Clock()
    watch = Watch(reader, False, clock)
    hold(maker)
    assert not dead(watch, reader)
    clock.now += LEASE_SECONDS
    assert dead(watch, reader)
