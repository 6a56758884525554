"""A spool of the test's own, with real nurseries and builders."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.spool.makers import MAKER

from trunkline.reply import Order
from trunkline.spool.desk import Desk
from trunkline.spool.order import Outcome, Terms
from trunkline.spool.place import Place, open_place
from trunkline.spool.reading import Look, Reading, open_reading
from trunkline.spool.room import Limits

SECONDS = 30.0
GIB = 1 << 30
LIMITS = Limits(bytes=GIB, free_bytes=0, age_seconds=3600)


class Counter:
    """One process that serves: a desk, and the files it has open."""

    def __init__(self, folder: Path, builders: int, queue: int, limits: Limits) -> None:
        self.place: Place = open_place(str(folder))
        self.desk = Desk(Terms(str(folder), MAKER, builders, queue, limits))
        self.readings: list[Reading] = []

    def ask(self, order: Order, dead: int = 0) -> Reading:
        """As a worker does: what is there, else what a builder makes."""
        if dead or (found := open_reading(self.place, order.name)) is None:
            outcome = self.desk.call(order, dead)
            assert outcome in (Outcome.CLAIMED, Outcome.TAKEN), outcome
            found = open_reading(self.place, order.name)
        assert found is not None
        found.count()
        self.readings.append(found)
        return found

    def leave(self, reading: Reading) -> None:
        self.readings.remove(reading)
        reading.close()

    def close(self) -> None:
        for reading in self.readings:
            reading.close()
        self.desk.close()


Open = Callable[..., Counter]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def counter(folder: Path) -> Iterator[Open]:
    """`counter()` is another process with the same folder."""
    opened: list[Counter] = []

    def one(
        builders: int = 2, queue: int = 8, limits: Limits = LIMITS, where: Path = folder
    ) -> Counter:
        opened.append(Counter(where, builders, queue, limits))
        return opened[-1]

    yield one
    for each in opened:
        each.close()


def await_look(reading: Reading, wanted: Callable[[Look], bool]) -> Look:
    deadline = time.monotonic() + SECONDS
    while not wanted(look := reading.look()):
        assert time.monotonic() < deadline, look
        time.sleep(0.01)
    return look


def await_true(wanted: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not wanted():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def read_all(reading: Reading) -> bytes:
    """To the end, waiting for it."""
    look = await_look(reading, lambda look: look.is_over)
    assert look.is_whole, look
    data = b""
    while len(data) < look.size:
        data += reading.read(len(data), 1 << 20)
    return data


def files(folder: Path) -> set[str]:
    """Without what is always there."""
    return {name for name in os.listdir(folder) if "." in name}


def pids(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()] if log.exists() else []
