from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator

import pytest
from tests.unit.liveness import await_end

from trunkline.errors import StoreError
from trunkline.hg.stock.process import WORDS_LIMIT, Process, ProcessEnded, ProcessSilent


@pytest.fixture(autouse=True)
def _no_descriptor_is_left() -> Iterator[None]:
    before = len(os.listdir("/dev/fd"))
    yield
    assert len(os.listdir("/dev/fd")) == before


def python(code: str) -> Process:
    return Process([sys.executable, "-c", code], dict(os.environ))


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_reads_lines_and_exact_bytes_and_the_rest() -> None:
    process = python("print('one'); print('two'); print('three', end='')")
    assert process.read_line(10) == b"one\n"
    assert process.read_exactly(4, 10) == b"two\n"
    assert process.read_block(100, 10) == b"three"
    assert process.read_some(100, 10) == b""
    assert process.finish(10) == 0


def test_ends_early_is_an_error_not_an_answer() -> None:
    process = python("print('12', end='')")
    with pytest.raises(ProcessEnded, match="3 bytes early"):
        process.read_exactly(5, 10)
    assert process.finish(10) == 0
    process = python("print('12', end='')")
    with pytest.raises(ProcessEnded):
        process.read_line(10)
    process.finish(10)


def test_silence_is_bounded_and_the_silent_is_killed_and_reaped() -> None:
    process = python("import time; time.sleep(600)")
    start = time.monotonic()
    with pytest.raises(ProcessSilent):
        process.read_line(0.2)
    assert time.monotonic() - start < 5
    assert process.kill() == -signal.SIGKILL
    assert is_gone(process.pid)


def test_words_are_drained_while_waiting_for_an_answer() -> None:
    process = python(
        f"import sys; sys.stderr.write('w' * {3 * WORDS_LIMIT}); sys.stderr.flush(); print('done')"
    )
    assert process.read_line(30) == b"done\n"
    assert process.finish(10) == 0
    assert process.take_words() == b"w" * WORDS_LIMIT


def test_words_are_drained_while_writing() -> None:
    process = python(
        "import sys\n"
        "for _ in range(64):\n"
        "    sys.stdin.buffer.read(65536); sys.stderr.write('w' * 65536)\n"
        "print('done')"
    )
    process.write(bytes(64 * 65536), 30)
    assert process.read_line(30) == b"done\n"
    process.finish(10)


def test_writing_to_one_that_ended_says_so() -> None:
    process = python("")
    with pytest.raises(ProcessEnded):
        process.write(bytes(10_000_000), 10)
    assert process.finish(10) == 0
    assert process.finish(10) == 0  # once more does nothing


def test_finish_ends_one_that_does_not_end_itself() -> None:
    process = python("import time; time.sleep(600)")
    assert process.finish(0.2) == -signal.SIGTERM
    assert is_gone(process.pid)


def test_finish_does_not_wait_for_what_a_hook_left_in_the_background() -> None:
    process = python(
        "import subprocess, sys\n"
        "print(subprocess.Popen(['sleep', '20'], stdout=2, start_new_session=True).pid)"
    )
    daemon = int(process.read_line(10))
    start = time.monotonic()
    assert process.finish(10) == 0
    assert time.monotonic() - start < 5
    assert not is_gone(daemon)
    os.kill(daemon, signal.SIGKILL)


LEAVES_A_READER_AND_WRITER = (
    "import os, subprocess, sys\n"
    "c = subprocess.Popen(['sleep', '30'], start_new_session=True)\n"
    "print(c.pid, 'x' * 100_000, flush=True); os.kill(os.getpid(), 9)"
)


def test_what_a_killed_child_left_behind_is_no_reason_to_wait() -> None:
    """A hook that outlives its `hg` holds all of the pipes; what was said before counts."""
    start = time.monotonic()
    process = python(LEAVES_A_READER_AND_WRITER)
    line = process.read_line(30)
    with pytest.raises(ProcessEnded):
        process.read_line(30)
    with pytest.raises(ProcessEnded):
        process.write(bytes(10_000_000), 30)
    assert len(line.split()[1]) == 100_000
    assert process.finish(30) == -signal.SIGKILL
    assert time.monotonic() - start < 15
    os.kill(int(line.split()[0]), signal.SIGKILL)


def test_kill_ends_the_children_of_the_child() -> None:
    process = python(
        "import subprocess; c = subprocess.Popen(['sleep', '600'], stdout=2)\n"
        "print(c.pid, flush=True); c.wait()"
    )
    grandchild = int(process.read_line(10))
    process.kill()
    await_end(grandchild)


def test_child_sees_end_of_input_when_we_are_killed() -> None:
    """Our end of its stdin is nobody else's: no other child has a copy."""
    script = (
        "import os, sys, time\n"
        "from trunkline.hg.stock.process import Process\n"
        "cat = Process(['cat'], dict(os.environ))\n"
        "other = Process(['sleep', '60'], dict(os.environ))\n"
        "print(cat.pid, other.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = Process([sys.executable, "-c", script], dict(os.environ))
    cat, other = map(int, parent.read_line(30).split())
    parent._signal(signal.SIGKILL)
    parent.kill()
    await_end(cat)
    os.kill(other, signal.SIGKILL)


def test_a_program_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(StoreError, match="can't start Mercurial"):
        Process(["/no/such/hg"], {})
