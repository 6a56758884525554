from __future__ import annotations

from tests.unit.access.clock import Clock

from trunkline.access.remembered import Remembered


def test_remembers_exactly_what_it_was_told() -> None:
    known = Remembered(10, 60, Clock())
    known.add("alice", b"secret", "hash")
    assert known.has("alice", b"secret", "hash")
    for other in (
        ("alice", b"Secret", "hash"),
        ("bob", b"secret", "hash"),
        ("alice", b"secret", "new hash"),  # the password was changed
        ("alices", b"ecret", "hash"),  # parts don't run into each other
        ("alice", b"", "hashsecret"),
    ):
        assert not known.has(*other)


def test_forgets_in_time() -> None:
    clock = Clock()
    known = Remembered(10, 60, clock)
    known.add("alice", b"secret", "hash")
    clock.now += 59
    assert known.has("alice", b"secret", "hash")
    clock.now += 1
    assert not known.has("alice", b"secret", "hash")
    assert len(known) == 0


def test_keeps_no_more_than_its_limit() -> None:
    known = Remembered(3, 60, Clock())
    known.add("first", b"", "")
    for number in range(10):
        known.add(str(number), b"", "")
        known.has("first", b"", "")
    assert len(known) == 3
    assert known.has("first", b"", "")
    assert not known.has("0", b"", "")


def test_zero_seconds_remember_nothing() -> None:
    known = Remembered(10, 0, Clock())
    known.add("alice", b"secret", "hash")
    assert len(known) == 0


def test_holds_no_password() -> None:
    known = Remembered(10, 60, Clock())
    known.add("alice", b"a long enough secret", "hash")
    assert b"secret" not in repr(vars(known)).encode()
