from __future__ import annotations

import threading
import time

import pytest

from trunkline.svn.dav.pushed import BLOCK, QUEUE, Output, Pushed


def test_blocks_come_out_as_written() -> None:
    def produce(output: Output) -> None:
        for _ in range(1000):
            output.write(b"x" * 1000)

    blocks = list(Pushed(produce))
    assert sum(map(len, blocks)) == 1_000_000
    assert max(map(len, blocks)) < BLOCK + 1000


def test_a_failure_comes_out_after_what_was_written() -> None:
    def produce(output: Output) -> None:
        output.write(b"x" * BLOCK)
        raise ValueError("broken")

    pushed = Pushed(produce)
    assert len(next(pushed)) == BLOCK
    with pytest.raises(ValueError, match="broken"):
        next(pushed)
    with pytest.raises(StopIteration):
        next(pushed)


def test_a_reader_that_goes_ends_the_drive() -> None:
    written = []

    def produce(output: Output) -> None:
        while True:
            output.write(b"x" * BLOCK)
            written.append(1)

    before = threading.active_count()
    pushed = Pushed(produce)
    next(pushed)
    pushed.close()
    assert len(written) <= QUEUE + 3
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_one_that_never_began_is_closed() -> None:
    Pushed(lambda _: None).close()
