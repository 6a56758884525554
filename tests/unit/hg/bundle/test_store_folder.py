from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from trunkline.errors import StoreError
from trunkline.hg.bundle.store_folder import StoreFolder

JOURNAL = b"data/a b/\xc3\xa9.i\x00120\ndata/new.i\x000\n00manifest.i\x0064\ndata/new.i\x007\n"


@pytest.fixture
def folder(tmp_path: Path) -> StoreFolder:
    return StoreFolder(str(tmp_path))


def test_the_journals_last_length_of_a_name_holds(folder: StoreFolder, tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(JOURNAL)

    assert folder.journal() == {
        b"data/a b/\xc3\xa9.i": 120,
        b"data/new.i": 7,
        b"00manifest.i": 64,
    }


def test_a_journal_line_that_is_being_written_is_left_out(
    folder: StoreFolder, tmp_path: Path
) -> None:
    lines = JOURNAL.splitlines(keepends=True)
    for length in range(len(JOURNAL)):
        (tmp_path / "journal").write_bytes(JOURNAL[:length])
        whole = JOURNAL[:length].count(b"\n")
        names = {line.partition(b"\0")[0] for line in lines[:whole]}

        assert set(folder.journal()) == names


def test_there_is_nothing_in_no_journal(folder: StoreFolder) -> None:
    assert folder.journal() == {}


def test_the_folder_stays_the_same_when_another_takes_its_name(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/file").write_bytes(b"old")
    folder = StoreFolder(str(tmp_path / "store"))
    (tmp_path / "store").rename(tmp_path / "backup")
    (tmp_path / "store").mkdir()
    (tmp_path / "store/file").write_bytes(b"new")

    assert folder.read(b"file") == b"old"


@pytest.mark.parametrize("name", ["lock", "journal"])
def test_a_state_tells_that_a_file_came_and_went(
    folder: StoreFolder, tmp_path: Path, name: str
) -> None:
    before = folder.state()
    assert folder.state() == before
    time.sleep(0.02)  # longer than a tick of the file system's clock

    (tmp_path / name).touch()
    assert folder.state() != before
    (tmp_path / name).unlink()

    assert folder.state() != before


def test_a_state_tells_that_the_changelog_was_written(folder: StoreFolder, tmp_path: Path) -> None:
    (tmp_path / "00changelog.i").write_bytes(b"1")
    before = folder.state()
    (tmp_path / "00changelog.i").write_bytes(b"12")

    assert folder.state() != before


def test_a_missing_folder_is_told_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        StoreFolder(str(tmp_path / "missing"))

    assert caught.value.path == str(tmp_path / "missing")


def test_what_cant_be_read_is_told_by_its_path(folder: StoreFolder, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(StoreError) as caught:
        folder.read(b"loop")
    assert caught.value.path == str(tmp_path / "loop")
    with pytest.raises(StoreError):
        folder.stat(b"loop")


def test_a_folder_is_closed_with_the_last_who_holds_it(tmp_path: Path) -> None:
    folder = StoreFolder(str(tmp_path))
    descriptor = folder.descriptor
    os.fstat(descriptor)

    del folder

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
