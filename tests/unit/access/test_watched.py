from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import pytest

from trunkline.access.watched import SETTLED_SECONDS, Watched
from trunkline.errors import SettingsError


def read(data: bytes) -> str:
    if b"!" in data:
        raise SettingsError("an exclamation mark")
    return data.decode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("one")
    return path


def test_change_is_seen_at_once(file: Path) -> None:
    watched = Watched(str(file), read)
    assert watched.get() == "one"
    for number in range(100, 200):  # as long as each other, many within one tick of the clock
        file.write_text(str(number))
        assert watched.get() == str(number)


def test_unchanged_file_is_not_read_again(file: Path) -> None:
    time.sleep(2 * SETTLED_SECONDS)
    reads: list[bytes] = []
    watched = Watched(str(file), reads.append)
    for _ in range(5):
        watched.get()
    assert len(reads) == 1


def test_replaced_file_is_seen(file: Path, tmp_path: Path) -> None:
    watched = Watched(str(file), read)
    other = tmp_path / "other"
    other.write_text("two")
    os.utime(other, ns=(file.stat().st_mtime_ns, file.stat().st_mtime_ns))
    os.replace(other, file)
    assert watched.get() == "two"


def test_broken_file_keeps_the_last_good_one_and_says_so_once(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watched = Watched(str(file), read)
    file.write_text("broken!")
    with caplog.at_level(logging.ERROR):
        assert [watched.get() for _ in range(5)] == ["one"] * 5
        time.sleep(2 * SETTLED_SECONDS)
        assert watched.get() == "one"
    (record,) = caplog.records
    assert record.getMessage().startswith(f"{file}: an exclamation mark")
    file.write_text("mended")
    assert watched.get() == "mended"
    file.write_text("broken!")
    watched.get()
    assert len(caplog.records) == 2


def test_file_that_went_keeps_what_it_said(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched(str(file), read)
    file.unlink()
    assert [watched.get() for _ in range(3)] == ["one"] * 3
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}: No such file or directory; what it said before stays in force"
    ]


def test_broken_file_at_the_start_is_refused(file: Path, tmp_path: Path) -> None:
    file.write_text("!")
    with pytest.raises(SettingsError, match="file: an exclamation mark"):
        Watched(str(file), read)
    with pytest.raises(SettingsError, match="No such file"):
        Watched(str(tmp_path / "none"), read)
    with pytest.raises(SettingsError, match=r"not a file|Is a directory"):
        Watched(str(tmp_path), read)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SettingsError, match="not a file"):
        Watched(str(tmp_path / "fifo"), read)
