from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.liveness import children

from trunkline.errors import PeerError, StoreError
from trunkline.hg.stock.caller import ANYONE
from trunkline.hg.stock.pool import Limits, Place, Pool
from trunkline.hg.stock.stdio import StdioServer

from .conftest import Repository


def place_of(repository: Repository) -> Place:
    return Place(str(repository.root), ())


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_process_is_used_again(repository: Repository, pool: Pool) -> None:
    place = place_of(repository)
    first = pool.lease(place, ANYONE)
    pool.give_back(place, first)
    assert pool.lease(place, ANYONE) is first


def test_no_more_than_allowed_for_one_repository(repository: Repository) -> None:
    pool = Pool(Limits(processes=4, processes_per_repository=2, wait_seconds=0.2))
    place = place_of(repository)
    first, second = pool.lease(place, ANYONE), pool.lease(place, ANYONE)
    with pytest.raises(PeerError, match="too many requests") as error:
        pool.lease(place, ANYONE)
    assert error.value.status == 503
    pool.give_back(place, first)
    assert pool.lease(place, ANYONE) is first
    pool.drop(place, second)
    pool.drop(place, pool.lease(place, ANYONE))
    pool.close()


def test_one_that_waits_gets_what_another_gives_back(repository: Repository) -> None:
    pool = Pool(Limits(processes=1, processes_per_repository=1, wait_seconds=30))
    place = place_of(repository)
    server = pool.lease(place, ANYONE)
    got: list[StdioServer] = []
    thread = threading.Thread(target=lambda: got.append(pool.lease(place, ANYONE)))
    thread.start()
    pool.give_back(place, server)
    thread.join(30)
    assert got == [server]
    pool.close()


def test_an_idle_one_of_another_repository_makes_room(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pool = Pool(Limits(processes=1, wait_seconds=5))
    other = Repository(tmp_path_factory.mktemp("other") / "repository")
    pool.give_back(place_of(repository), first := pool.lease(place_of(repository), ANYONE))
    second = pool.lease(place_of(other), ANYONE)
    assert second is not first
    wait_until(lambda: not first.process.is_running)
    pool.close()


def test_idle_ones_end_after_a_while_and_leave_nothing(repository: Repository) -> None:
    place = place_of(repository)
    warm = Pool()  # starts the command server that reads configuration, and that one stays
    warm.give_back(place, warm.lease(place, ANYONE))
    warm.close()
    before = children(), len(os.listdir("/dev/fd"))
    pool = Pool(Limits(idle_seconds=0.2))
    pool.give_back(place, pool.lease(place, ANYONE))
    assert pool.pids
    wait_until(lambda: not pool.pids and children() <= before[0])
    wait_until(lambda: len(os.listdir("/dev/fd")) <= before[1])
    server = pool.lease(place, ANYONE)  # and the pool goes on
    pool.give_back(place, server)
    pool.close()


def test_one_that_died_while_idle_is_replaced_unseen(repository: Repository, pool: Pool) -> None:
    place = place_of(repository)
    first = pool.lease(place, ANYONE)
    pool.give_back(place, first)
    os.kill(first.process.pid, signal.SIGKILL)
    second = pool.lease(place, ANYONE)
    assert second is not first
    assert second.call(b"heads", {}).startswith(b"0000")


def test_one_that_hangs_when_taken_is_replaced(
    repository: Repository, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(repository)
    first = pool.lease(place, ANYONE)
    pool.give_back(place, first)
    os.kill(first.process.pid, signal.SIGSTOP)
    monkeypatch.setattr("trunkline.hg.stock.stdio.START_SECONDS", 2.0)
    second = pool.lease(place, ANYONE)
    assert second is not first
    assert not first.process.is_running


def test_another_configuration_gets_another_process(repository: Repository, pool: Pool) -> None:
    place = place_of(repository)
    first = pool.lease(place, ANYONE)
    pool.give_back(place, first)
    repository.configure("[web]\nname = x\n")
    assert pool.lease(place, ANYONE) is not first
    wait_until(lambda: not first.process.is_running)


def test_a_repository_that_is_none_is_an_error_and_counts_no_longer(
    repository: Repository, pool: Pool
) -> None:
    place = place_of(repository)
    pool.give_back(place, pool.lease(place, ANYONE))
    with open(repository.root / ".hg/requires", "a") as file:
        file.write("from-the-future\n")
    for _ in range(5):
        with pytest.raises(StoreError, match="from-the-future"):
            pool.lease(place, ANYONE)


def test_close_ends_what_is_held_and_refuses_more(repository: Repository) -> None:
    pool = Pool()
    place = place_of(repository)
    server = pool.lease(place, ANYONE)
    pool.keep_spare(place, server.config)
    assert len(pool.pids) == 2
    pool.close()
    assert not server.process.is_running
    pool.settle(place, server)
    with pytest.raises(StoreError, match="stopped"):
        pool.lease(place, ANYONE)
    assert not pool.pids


def test_one_process_is_made_ready_however_often_that_is_asked(
    repository: Repository, pool: Pool
) -> None:
    place = place_of(repository)
    for _ in range(5):
        pool.prepare(place)
    wait_until(lambda: len(pool.pids) == 1)
    (pid,) = pool.pids
    for _ in range(5):
        pool.prepare(place)
    assert pool.lease(place, ANYONE).process.pid == pid
    assert pool.pids == {pid}


def test_one_for_later_is_made_ready_later(repository: Repository, pool: Pool) -> None:
    begun = time.monotonic()
    pool.prepare(place_of(repository), 0.3)
    wait_until(lambda: len(pool.pids) == 1)
    assert time.monotonic() - begun >= 0.3


def test_what_cannot_be_made_ready_is_told_to_who_needs_it(pool: Pool, tmp_path: Path) -> None:
    place = Place(str(tmp_path / "nothing"), ())
    pool.prepare(place)
    with pytest.raises(StoreError):
        pool.lease(place, ANYONE)
