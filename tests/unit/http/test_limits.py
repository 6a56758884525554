from __future__ import annotations

from contextlib import ExitStack

import pytest

from trunkline.config.limits import Limits
from trunkline.errors import PeerError
from trunkline.http.limits import ArgumentBytes, Guests, group


def test_one_address_past_its_limit_is_refused_until_one_leaves() -> None:
    guests = Guests(Limits(requests_per_address=2))
    first, _ = guests.enter("192.0.2.1"), guests.enter("192.0.2.1")
    with pytest.raises(PeerError) as caught:
        guests.enter("192.0.2.1")
    assert caught.value.status == 503
    guests.enter("192.0.2.2")
    guests.leave(first)
    guests.enter("192.0.2.1")


def test_all_together_past_the_limit_are_refused() -> None:
    guests = Guests(Limits(requests=2))
    guests.enter("192.0.2.1")
    ticket = guests.enter("192.0.2.2")
    with pytest.raises(PeerError) as caught:
        guests.enter("192.0.2.3")
    assert caught.value.status == 503
    guests.leave(ticket)
    guests.enter("192.0.2.3")


def test_a_refused_guest_is_not_counted() -> None:
    guests = Guests(Limits(requests_per_address=1))
    ticket = guests.enter("192.0.2.1")
    with pytest.raises(PeerError):
        guests.enter("192.0.2.1")
    guests.leave(ticket)
    assert guests.total == 0
    assert not guests._counts


def refusals(*guests: str, size: int, limits: Limits) -> list[int]:
    """The status for each guest, one after the other, who holds as much; nobody gives it back."""
    arguments, found = ArgumentBytes(limits), list[int]()
    with ExitStack() as stack:
        for guest in guests:
            held = stack.enter_context(arguments.holding(guest))
            try:
                held.add(size)
            except PeerError as error:
                found.append(error.status)
            else:
                found.append(200)
    assert arguments.total == 0
    assert not arguments._of_guest
    return found


def test_arguments_past_the_bytes_of_all_are_refused() -> None:
    limits = Limits(post_args_bytes=5, all_post_args_bytes=10, post_args_bytes_per_address=5)
    assert refusals("a", "b", "c", size=5, limits=limits) == [200, 200, 503]


def test_arguments_past_the_bytes_of_one_address_are_refused() -> None:
    limits = Limits(post_args_bytes=5, post_args_bytes_per_address=10)
    assert refusals("a", "a", "a", "b", size=5, limits=limits) == [200, 200, 503, 200]


def test_one_request_alone_always_gets_its_share() -> None:
    limits = Limits(post_args_bytes=9, all_post_args_bytes=1, post_args_bytes_per_address=1)
    assert refusals("a", size=9, limits=limits) == [200]


def test_what_is_only_announced_takes_no_share() -> None:
    arguments = ArgumentBytes(Limits(post_args_bytes=5, all_post_args_bytes=5))
    with arguments.holding("a"), arguments.holding("b") as held:
        held.add(5)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::"),
        ("no:address", "no:address"),
    ],
)
def test_ipv6_counts_by_its_first_64_bits(address: str, expected: str) -> None:
    assert group(address) == expected
