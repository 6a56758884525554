"""Builds with real processes: one for many, and what becomes of those that break."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.unit.liveness import await_end, is_alive
from tests.unit.spool.conftest import (
    Open,
    await_look,
    await_true,
    files,
    pids,
    read_all,
)
from tests.unit.spool.makers import expected, order

from trunkline.spool.order import Outcome
from trunkline.spool.place import FILE_MODE
from trunkline.spool.reading import open_reading
from trunkline.spool.room import Limits


def test_first_request_has_it_made_and_later_ones_find_it_whole(
    counter: Open, folder: Path, tmp_path: Path
) -> None:
    asked = order(log=tmp_path / "log")
    here = counter()
    assert read_all(here.ask(asked)) == expected(asked)
    await_true(lambda: files(folder) == {"a1.whole", "a1.uses"})
    later = counter().ask(asked)
    assert later.look().is_whole
    assert later.etag.startswith(b'"a1-')
    assert read_all(later) == expected(asked)
    assert len(pids(tmp_path / "log")) == 1
    assert (folder / "a1.uses").read_bytes() == b"++"


def test_files_are_private(counter: Open, folder: Path) -> None:
    old = os.umask(0)
    try:
        reading = counter().ask(order(pause=0.05))
        assert folder.stat().st_mode & 0o777 == 0o700
        for name in os.listdir(folder):
            assert (folder / name).stat().st_mode & 0o777 == FILE_MODE, name
        read_all(reading)
    finally:
        os.umask(old)


def test_followers_of_a_growing_file_get_the_same_bytes(counter: Open, tmp_path: Path) -> None:
    asked = order(count=40, size=50_000, pause=0.01, log=tmp_path / "log")
    servers = [counter(builders=4) for _ in range(3)]  # three servers on one folder
    with ThreadPoolExecutor(50) as pool:
        readings = list(pool.map(lambda number: servers[number % 3].ask(asked), range(50)))
        bodies = list(pool.map(read_all, readings))
    assert all(body == expected(asked) for body in bodies)
    assert len(pids(tmp_path / "log")) == 1


def test_reader_sees_it_grow(counter: Open) -> None:
    reading = counter().ask(order(count=20, pause=0.05))
    first = await_look(reading, lambda look: look.size > 0)
    assert not first.is_over
    assert reading.read(0, 8) == b"00000000"
    assert await_look(reading, lambda look: look.is_over).size == 2_000_000


def test_killed_builder_is_noticed_and_a_fresh_one_makes_it(
    counter: Open, folder: Path, tmp_path: Path
) -> None:
    asked = order(count=40, pause=0.05, log=tmp_path / "log")
    here, there = counter(), counter()
    reading, other = here.ask(asked), there.ask(asked)
    await_look(reading, lambda look: look.size > 0)
    (pid,) = pids(tmp_path / "log")
    os.kill(pid, signal.SIGKILL)
    for each in (reading, other):
        look = await_look(each, lambda look: look.is_over)
        assert look.is_dead
        assert not look.is_whole
    fresh = here.ask(order(log=tmp_path / "log"), reading.inode)
    late = there.ask(order(log=tmp_path / "log"), other.inode)  # it doesn't break the fresh one
    assert read_all(fresh) == read_all(late) == expected(order())
    assert len(pids(tmp_path / "log")) == 2
    assert not other.look().is_whole


def test_builder_that_dies_at_the_very_end_leaves_nothing_whole(counter: Open) -> None:
    reading = counter().ask(order(end="dies"))
    look = await_look(reading, lambda look: look.is_over)
    assert (look.size, look.is_whole, look.is_dead) == (400_000, False, True)


def test_builder_that_fails_says_so(
    counter: Open, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reading = counter().ask(order(end="fails"))
    look = await_look(reading, lambda look: look.is_over)
    assert (look.is_whole, look.is_dead) == (False, False)
    await_true(lambda: "a1.part" not in files(folder))
    await_true(lambda: "no more of it" in capfd.readouterr().err)


def test_killed_worker_leaves_a_build_to_other_readers(counter: Open, tmp_path: Path) -> None:
    """Its nursery ends with it; the builder doesn't."""
    asked = order(count=30, pause=0.05, log=tmp_path / "log")
    first, second = counter(), counter()
    first.ask(asked)
    reading = second.ask(asked)
    await_look(reading, lambda look: look.size > 0)
    first.close()
    first.readings.clear()
    assert read_all(reading) == expected(asked)


def test_nursery_ends_when_its_worker_is_gone(counter: Open) -> None:
    here = counter()
    read_all(here.ask(order()))
    nursery = here.desk._nursery
    assert nursery is not None
    assert nursery.stdin is not None
    os.kill(nursery.pid, signal.SIGTERM)  # all of a service get it when it is told to end
    time.sleep(0.1)
    assert is_alive(nursery.pid)
    nursery.stdin.close()
    nursery.wait(10)


def test_nursery_takes_no_code_from_the_current_folder(
    counter: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may be one of repositories, and those are others'."""
    for name in ("trunkline", "tests", "gc", "numpy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    assert read_all(counter().ask(order())) == expected(order())


def test_killed_nursery_is_replaced(counter: Open) -> None:
    here = counter()
    read_all(here.ask(order()))
    assert here.desk._nursery is not None
    here.desk._nursery.kill()
    here.desk._nursery.wait()
    assert read_all(here.ask(order("b2"))) == expected(order("b2"))


def test_build_that_nobody_reads_ends(counter: Open, folder: Path, tmp_path: Path) -> None:
    here = counter()
    reading = here.ask(order(count=1000, pause=0.05, log=tmp_path / "log"))
    await_look(reading, lambda look: look.size > 0)
    (pid,) = pids(tmp_path / "log")
    here.leave(reading)
    await_end(pid)
    await_true(lambda: "a1.part" not in files(folder))


def test_build_that_is_nearly_done_goes_on(counter: Open, folder: Path) -> None:
    here = counter()
    reading = here.ask(order(count=100, pause=0.08, about=8_200_000))
    await_look(reading, lambda look: look.size > 6_600_000)
    here.leave(reading)
    await_true(lambda: "a1.whole" in files(folder))


def test_build_far_beyond_its_estimate_is_not_nearly_done(
    counter: Open, folder: Path, tmp_path: Path
) -> None:
    here = counter()
    reading = here.ask(order(count=1000, pause=0.05, about=300_000, log=tmp_path / "log"))
    await_look(reading, lambda look: look.size > 400_000)
    (pid,) = pids(tmp_path / "log")
    here.leave(reading)
    await_end(pid)
    assert "a1.whole" not in files(folder)


def test_builders_are_so_many_and_others_queue(counter: Open, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first, second = counter(builders=1, queue=2), counter(builders=1, queue=2)
    running = first.ask(order("a", count=20, pause=0.05, log=log))
    await_true(lambda: len(pids(log)) == 1)
    waiting = [second.ask(order(name, count=2, log=log)) for name in ("b", "c")]
    assert second.desk.call(order("d")) is Outcome.BUSY
    time.sleep(0.3)
    assert len(pids(log)) == 1
    assert all(reading.look().size == 0 for reading in waiting)
    assert read_all(running) == expected(order("a", count=20))
    assert all(read_all(reading) == expected(order(count=2)) for reading in waiting)
    assert len(pids(log)) == 3


def test_who_waits_in_the_queue_and_leaves_is_not_built_for(
    counter: Open, folder: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    here = counter(builders=1)
    running = here.ask(order("a", count=100, pause=0.05, log=log))
    await_true(lambda: len(pids(log)) == 1)
    here.leave(here.ask(order("b", log=log)))
    await_true(lambda: "b.part" not in files(folder))
    assert not running.look().is_over
    assert len(pids(log)) == 1


def test_folder_deleted_under_way_hurts_nobody(counter: Open, folder: Path) -> None:
    here = counter()
    asked = order(count=20, pause=0.05)
    reading = here.ask(asked)
    await_look(reading, lambda look: look.size > 0)
    shutil.rmtree(folder)
    assert read_all(reading) == expected(asked)
    again = here.ask(asked)
    assert again.inode != reading.inode
    assert read_all(again) == expected(asked)


def test_leftover_of_a_crash_is_not_served(counter: Open, folder: Path) -> None:
    """Even one that looks whole: nobody knows whether all of it came to the disk."""
    asked = order()
    for mode in (0o600, 0o400):
        here = counter()
        (folder / "a1.part").write_bytes(b"torn")
        (folder / "a1.part").chmod(mode)
        left = here.ask(asked)
        look = await_look(left, lambda look: look.is_over)
        assert look.is_dead
        assert not look.is_whole
        assert read_all(here.ask(asked, left.inode)) == expected(asked)
        await_true(lambda: "a1.whole" in files(folder))
        (folder / "a1.whole").unlink()


def test_clock_that_jumps_does_no_harm(counter: Open, folder: Path) -> None:
    here = counter()
    asked = order(count=30, pause=0.05)
    reading = here.ask(asked)
    for jump in (-86_400, 86_400, 0):
        os.utime(folder / "a1.part", (time.time() + jump,) * 2)
        later = here.ask(asked)
        assert later.inode == reading.inode
        time.sleep(0.4)
        assert not later.look().is_over
    assert read_all(reading) == expected(asked)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    where = tmp_path / "disk"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(where)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


def test_full_disk_breaks_the_build_and_says_so_once(
    counter: Open, small_disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    here = counter(where=small_disk / "spool")
    reading = here.ask(order(count=40, about=1000))
    look = await_look(reading, lambda look: look.is_over)
    assert not look.is_whole
    await_true(lambda: here.desk.call(order("b2")) is Outcome.TROUBLE)
    assert here.desk.call(order("c3")) is Outcome.TROUBLE
    said = capfd.readouterr().err
    assert said.count("No space left") == 1
    assert "Traceback" not in said
    assert open_reading(here.place, "a1") is None


def test_no_room_within_the_limits(counter: Open, capfd: pytest.CaptureFixture[str]) -> None:
    limits = Limits(bytes=100_000, free_bytes=0, age_seconds=60)
    here = counter(limits=limits)
    reading = here.ask(order(about=100_001))
    assert not await_look(reading, lambda look: look.is_over).is_whole
    await_true(lambda: here.desk.call(order("b2")) is Outcome.TROUBLE)
    assert capfd.readouterr().err.count("no room") == 1


def test_folder_that_others_may_write_to_is_not_used(
    counter: Open, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    here = counter()
    folder.chmod(0o777)
    for _ in range(3):
        assert here.desk.call(order()) is Outcome.TROUBLE
    assert capfd.readouterr().err.count("made anew") == 1


def test_least_recently_used_go_for_a_new_one(counter: Open, folder: Path) -> None:
    here = counter(limits=Limits(bytes=1_300_000, free_bytes=0, age_seconds=3600))
    for name in ("a", "b", "c"):
        reading = here.ask(order(name))
        read_all(reading)
        await_true((folder / f"{name}.whole").exists)
        if name != "a":
            here.leave(reading)  # the oldest is still being read
        os.utime(folder / f"{name}.uses", (1_000_000_000, 1_000_000_000 + ord(name)))
        os.utime(folder / f"{name}.whole", (1_000_000_000, 1_000_000_000 + ord(name)))
    read_all(counter(limits=Limits(1_300_000, 0, 2_000_000_000)).ask(order("d")))
    await_true(lambda: "d.whole" in files(folder))
    assert {name for name in files(folder) if name.endswith("whole")} == {
        "a.whole",
        "c.whole",
        "d.whole",
    }
