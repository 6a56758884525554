from __future__ import annotations

import pytest
from tests.unit.access.clock import Clock

from trunkline.access.guesses import Guesses, TooManyFailures
from trunkline.config.auth import Auth

AUTH = Auth(failures_per_login=3, failures_per_address=6, failures_per_user=5, failure_seconds=60)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guesses(clock: Clock) -> Guesses:
    return Guesses(AUTH, clock)


def is_open(guesses: Guesses, address: str, user: str) -> bool:
    try:
        guesses.check(address, user)
    except TooManyFailures:
        return False
    return True


def test_tells_when_to_come_again(guesses: Guesses, clock: Clock) -> None:
    fail(guesses, 3, "a", "alice")
    clock.now += 20.5
    with pytest.raises(TooManyFailures, match="in 40 seconds") as caught:
        guesses.check("a", "alice")
    assert (caught.value.status, caught.value.seconds) == (429, 40)


def fail(guesses: Guesses, count: int, address: str, user: str) -> None:
    for _ in range(count):
        guesses.failed(address, user)


def test_one_login(guesses: Guesses, clock: Clock) -> None:
    fail(guesses, 2, "a", "alice")
    assert is_open(guesses, "a", "alice")
    fail(guesses, 1, "a", "alice")
    assert not is_open(guesses, "a", "alice")
    assert is_open(guesses, "a", "bob")
    assert is_open(guesses, "b", "alice")
    clock.now += 60
    assert is_open(guesses, "a", "alice")


def test_one_address_that_tries_many_users(guesses: Guesses) -> None:
    for number in range(6):
        assert is_open(guesses, "a", "carol")
        guesses.failed("a", str(number))
    assert not is_open(guesses, "a", "carol")
    assert is_open(guesses, "b", "carol")
    with pytest.raises(TooManyFailures):
        guesses.check_address("a")


def test_many_addresses_that_try_one_user_do_not_lock_the_owner_out(guesses: Guesses) -> None:
    guesses.succeeded("home", "alice")
    for number in range(5):
        guesses.failed(str(number), "alice")
    assert not is_open(guesses, "elsewhere", "alice")
    assert is_open(guesses, "home", "alice")
    assert is_open(guesses, "elsewhere", "bob")
    fail(guesses, 3, "home", "alice")  # who sits there may not guess either
    assert not is_open(guesses, "home", "alice")


def test_success_forgives_nothing(guesses: Guesses) -> None:
    fail(guesses, 2, "a", "alice")
    guesses.succeeded("a", "alice")
    fail(guesses, 1, "a", "alice")
    assert not is_open(guesses, "a", "alice")


def test_no_user_is_counted_where_none_is_named(guesses: Guesses) -> None:
    for number in range(50):
        guesses.failed(str(number))
    assert is_open(guesses, "a", "")


def test_memory_is_bounded(clock: Clock) -> None:
    guesses = Guesses(Auth(failures_kept=100), clock)
    for number in range(1000):
        guesses.failed(str(number), "x" * 1000 + str(number))
        guesses.succeeded(str(number), str(number))
    assert len(guesses) <= 200
