from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator

import pytest

from trunkline.http.log_writer import LogWriter

SECONDS = 10
PAGE = 4096  # bytes
FULL = 64 * 1024  # bytes: no pipe takes as many more once a write of them has been refused


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """That nobody reads, to begin with."""
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    try:
        while True:
            os.write(ends[1], b"x" * FULL)
    except BlockingIOError:
        os.set_blocking(ends[1], True)
    yield ends
    for end in ends:
        os.close(end)


def drain(reader: int, until: bytes) -> bytes:
    found = b""
    while until not in found:
        found += os.read(reader, FULL)
    return found.lstrip(b"x")


def test_lines_go_out_in_their_order_and_at_once() -> None:
    reader, writer = os.pipe()
    log = LogWriter(lambda: writer, "it")
    log.write(b"first\n")
    assert os.read(reader, 100) == b"first\n"
    for number in range(3000):
        log.write(b"%d\n" % number)
    assert log.flush(SECONDS)
    assert drain(reader, b"2999\n") == b"".join(b"%d\n" % number for number in range(3000))
    log.close()
    os.close(reader)
    os.close(writer)


def test_nobody_waits_for_a_reader_and_what_is_dropped_is_counted(
    pipe: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    log = LogWriter(lambda: pipe[1], "it", limit=50)
    begun = time.monotonic()
    for number in range(10):
        log.write(b"line %03d\n" % number)  # 9 bytes: five fit
    assert not log.flush(0.05)
    assert time.monotonic() - begun < 1
    assert drain(pipe[0], b"004\n") == b"".join(b"line %03d\n" % number for number in range(5))
    assert log.flush(SECONDS)
    log.write(b"after\n")
    assert drain(pipe[0], b"after\n") == b"after\n"
    log.close()
    assert [record.getMessage() for record in caplog.records] == [
        "5 lines of it were dropped: they couldn't go out"
    ]


def test_a_disk_that_is_full_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    log = LogWriter(lambda: full, "it")
    log.write(b"one\n")
    assert log.flush(SECONDS)
    os.dup2(os.open(os.devnull, os.O_WRONLY), full)
    with caplog.at_level(logging.WARNING):
        log.write(b"two\n")
        log.flush(SECONDS)
        log.close()
        wait = time.monotonic() + SECONDS
        while not caplog.records and time.monotonic() < wait:
            time.sleep(0.01)
    assert "1 lines of it were dropped" in caplog.text
    os.close(full)


def test_a_disk_that_is_full_is_told_at_once_and_at_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    log = LogWriter(lambda: full, "it")
    for number in range(3):
        log.write(b"%d\n" % number)
        assert log.flush(SECONDS)
    assert [record.getMessage() for record in caplog.records] == [
        "it can't be written: No space left on device"
    ]
    log.close()
    assert caplog.records[-1].getMessage() == "3 lines of it were dropped: they couldn't go out"
    os.close(full)


def test_no_line_goes_on_where_another_was_torn(
    pipe: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    """A pipe that takes a part, as a disk does whose last block is free."""
    reader, writer = pipe
    os.set_blocking(writer, False)
    log = LogWriter(lambda: writer, "it", limit=4 * FULL)
    os.read(reader, PAGE)
    log.write(b"y" * 2 * PAGE + b"\n")
    assert log.flush(SECONDS)
    log.write(b"lost\n")
    assert log.flush(SECONDS)
    found = os.read(reader, 16 * FULL)
    log.write(b"after\n")
    assert log.flush(SECONDS)
    log.close()
    assert found.endswith(b"xy" + (PAGE - 1) * b"y")
    assert os.read(reader, 100) == b"\nafter\n"
    assert caplog.records[-1].getMessage() == "2 lines of it were dropped: they couldn't go out"
