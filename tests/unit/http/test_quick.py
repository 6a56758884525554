from __future__ import annotations

import pytest

from trunkline.http.quick import (
    KNOWN_LIMIT,
    QUICK_SECONDS,
    TIMES,
    WALK_LIMIT,
    NotQuick,
    Quick,
    QuickWork,
)

KEY = (("a",), b"heads")


def test_counts_after_a_few_times_in_a_row() -> None:
    quick = Quick()
    for _ in range(TIMES):
        assert not quick.is_quick(KEY)
        quick.learn(KEY, QUICK_SECONDS)
    assert quick.is_quick(KEY)
    assert not quick.is_quick((("b",), b"heads"))


def test_one_slow_answer_sends_it_back() -> None:
    quick = Quick()
    for _ in range(TIMES + 5):
        quick.learn(KEY, 0)
    quick.learn(KEY, QUICK_SECONDS * 1.1)
    assert not quick.is_quick(KEY)
    for _ in range(TIMES - 1):
        quick.learn(KEY, 0)
    assert not quick.is_quick(KEY)


def test_remembers_a_bounded_number() -> None:
    quick = Quick()
    for number in range(KNOWN_LIMIT + 10):
        quick.learn(((str(number),), b"heads"), 0)
    assert len(quick._times) == KNOWN_LIMIT


def test_is_warm_in_the_state_of_the_last_answer_only() -> None:
    quick, states = Quick(), (object(), object())
    quick.warm(("a",), {b"heads", b"known"}, states[0])
    assert quick.is_warm((("a",), b"known"), states[0])
    assert not quick.is_warm((("a",), b"known"), states[1])
    assert not quick.is_warm((("b",), b"known"), states[0])
    for number in range(KNOWN_LIMIT + 10):
        quick.warm((str(number),), [b"heads"], states[1])
    assert len(quick._warm) == KNOWN_LIMIT


def test_work_that_is_not_quick_leaves_the_event_loop() -> None:
    work = QuickWork(lambda command: command == b"heads")
    work.begin(b"heads")
    with pytest.raises(NotQuick):
        work.begin(b"branchmap")
    work.walk(WALK_LIMIT)
    with pytest.raises(NotQuick):
        work.walk(1)
