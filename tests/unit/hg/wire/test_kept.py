from __future__ import annotations

from trunkline.hg.wire.kept import ANSWER_LIMIT, ANSWERS_LIMIT, OVERHEAD, Answers


def test_gives_what_was_put_for_the_same_owner_and_key_only() -> None:
    answers: Answers[str] = Answers()
    owner, other = object(), object()
    answers.put(owner, (b"q", b"h"), "one", 10)
    assert answers.get(owner, (b"q", b"h")) == "one"
    assert answers.get(owner, (b"q",)) is None
    assert answers.get(other, (b"q", b"h")) is None


def test_forgets_all_of_the_last_owner_when_a_new_one_comes() -> None:
    answers: Answers[str] = Answers()
    old, new = object(), object()
    answers.put(old, (1,), "old", 10)
    answers.put(new, (2,), "new", 10)
    assert answers.get(old, (1,)) is None
    assert answers.get(new, (1,)) is None
    assert answers.get(new, (2,)) == "new"


def test_keeps_no_answer_past_its_limit() -> None:
    answers: Answers[str] = Answers()
    owner = object()
    answers.put(owner, (1,), "as long as may be", ANSWER_LIMIT)
    answers.put(owner, (2,), "longer", ANSWER_LIMIT + 1)
    assert answers.get(owner, (1,)) is not None
    assert answers.get(owner, (2,)) is None


def test_all_together_stay_below_the_limit() -> None:
    answers: Answers[int] = Answers()
    owner = object()
    count = ANSWERS_LIMIT // (ANSWER_LIMIT + OVERHEAD)
    for number in range(count + 1):
        answers.put(owner, (number,), number, ANSWER_LIMIT)
    kept = [number for number in range(count + 1) if answers.get(owner, (number,)) is not None]
    assert kept == [count]


def test_many_small_ones_stay_below_the_limit_too() -> None:
    answers: Answers[int] = Answers()
    owner = object()
    for number in range(10_000):
        answers.put(owner, (number,), number, 0)
    assert len(answers._answers) <= ANSWERS_LIMIT // OVERHEAD
    assert answers.get(owner, (9_999,)) == 9_999
