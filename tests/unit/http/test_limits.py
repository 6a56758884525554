from __future__ import annotations

import pytest

from trunkline.config.settings import Limits
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


def test_arguments_past_the_bytes_of_all_are_refused() -> None:
    arguments = ArgumentBytes(10)
    with arguments.hold(99):  # one alone may
        with pytest.raises(PeerError) as caught, arguments.hold(1):
            pass
        assert caught.value.status == 503
        assert arguments.held == 99
    assert arguments.held == 0
    with arguments.hold(5), arguments.hold(5):
        assert arguments.held == 10


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
