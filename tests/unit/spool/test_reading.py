"""What a reader is shown of a file, at every stage of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from trunkline.errors import StoreError
from trunkline.spool.claim import claim
from trunkline.spool.lease import hold
from trunkline.spool.place import Place, open_place
from trunkline.spool.reading import Look, Reading, open_reading
from trunkline.spool.stage import Stage
from trunkline.spool.writer import Writer

NAME = "a1"
NOTHING = Look(0, Stage.GROWING)


@pytest.fixture(params=["local", "far"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return replace(open_place(str(tmp_path / "spool")), is_local=request.param == "local")


class Maker:
    """Claims and writes, in this process."""

    def __init__(self, place: Place) -> None:
        descriptor = claim(place, NAME)
        assert descriptor is not None
        self.descriptor = descriptor
        self.writer = Writer(place, NAME, descriptor)

    def die(self) -> None:
        os.close(self.descriptor)


@pytest.fixture
def maker(place: Place) -> Iterator[Maker]:
    made = Maker(place)
    yield made
    try:
        made.die()
    except OSError:
        pass


def reading(place: Place) -> Reading:
    found = open_reading(place, NAME)
    assert found is not None
    return found


def test_there_is_none(place: Place) -> None:
    assert open_reading(place, NAME) is None
    assert os.listdir(place.folder) == []


def test_one_from_the_start_sees_all_of_it(place: Place, maker: Maker) -> None:
    reader = reading(place)
    assert reader.look() == NOTHING
    maker.writer.write(b"some")
    assert reader.look() == Look(4, Stage.GROWING)
    assert reader.read(1, 10) == b"ome"
    maker.writer.finish()
    maker.die()
    assert reader.look() == Look(4, Stage.WHOLE)
    assert reader.etag.startswith(b'"a1-')
    assert os.path.exists(place.whole(NAME))
    reader.close()


def test_newcomer_is_shown_what_lives(place: Place, maker: Maker) -> None:
    maker.writer.write(b"some")
    reader = reading(place)
    first = reader.look()
    assert first == (Look(4, Stage.GROWING) if place.is_local else NOTHING)
    os.utime(maker.descriptor, (1, 1))  # as `renew` does, on a clock that is wrong
    assert reader.look() == Look(4, Stage.GROWING)
    reader.close()


def test_newcomer_is_shown_nothing_of_what_is_dead(place: Place, maker: Maker) -> None:
    maker.writer.write(b"some")
    maker.die()
    reader = reading(place)
    look = reader.look()
    assert look.size == 0
    assert look.is_dead == place.is_local  # elsewhere it takes its time
    reader.close()


def test_whole_file_that_is_not_kept_yet_counts_when_it_is(place: Place, maker: Maker) -> None:
    maker.writer.write(b"some")
    os.fchmod(maker.descriptor, Stage.WHOLE)
    reader = reading(place)
    assert not reader.look().is_whole
    os.rename(place.part(NAME), place.whole(NAME))
    assert reader.look() == Look(4, Stage.WHOLE)
    reader.close()


def test_maker_that_fails_says_so(place: Place, maker: Maker) -> None:
    reader = reading(place)
    maker.writer.write(b"some")
    assert maker.writer.fail()
    assert reader.look().stage is Stage.FAILED
    assert open_reading(place, NAME) is None
    reader.close()


def test_whole_file_cannot_fail_any_more(place: Place, maker: Maker) -> None:
    maker.writer.write(b"some")
    maker.writer.finish()
    assert not maker.writer.fail()
    assert reading(place).look().is_whole


def test_growing_file_under_the_name_of_a_whole_one_is_no_whole_one(place: Place) -> None:
    Path(place.whole(NAME)).write_bytes(b"torn")
    os.chmod(place.whole(NAME), 0o600)
    assert not reading(place).look().is_whole


def test_file_that_became_shorter_breaks_the_reply(place: Place, maker: Maker) -> None:
    reader = reading(place)
    maker.writer.write(b"some")
    reader.look()
    os.ftruncate(maker.descriptor, 0)
    with pytest.raises(StoreError, match="shorter"):
        reader.read(0, 10)
    reader.close()


def test_closed_while_others_read(place: Place, maker: Maker) -> None:
    """No descriptor of another file is ever read."""
    maker.writer.write(b"x" * 100_000)
    reader = reading(place)
    stop = threading.Event()
    wrong: list[bytes] = []

    def read() -> None:
        while not stop.is_set():
            try:
                data = reader.read(0, 100_000)
            except StoreError:
                continue
            if data.strip(b"x"):
                wrong.append(data)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    reader.close()
    for number in range(200):
        path = Path(place.folder, f"other-{number}")
        path.write_bytes(b"y" * 100_000)
        path.read_bytes()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    with pytest.raises(OSError, match="closed"):
        reader.look()


def test_dead_file_is_replaced_and_a_living_one_is_not(place: Place, maker: Maker) -> None:
    dead = os.fstat(maker.descriptor).st_ino
    assert claim(place, NAME) is None
    assert claim(place, NAME, dead + 1) is None
    maker.die()
    fresh = claim(place, NAME, dead)
    assert fresh is not None
    hold(fresh)
    assert claim(place, NAME, dead) is None or os.fstat(fresh).st_ino == dead
    os.close(fresh)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_file_of_another_account_is_not_read(place: Place) -> None:
    Path(place.whole(NAME)).write_bytes(b"evil")
    os.chmod(place.whole(NAME), 0o400)
    os.chown(place.whole(NAME), 12345, -1)
    with pytest.raises(PermissionError):
        open_reading(place, NAME)
