from __future__ import annotations

from trunkline.http.quick import KNOWN_LIMIT, QUICK_SECONDS, TIMES, Quick

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
