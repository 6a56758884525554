"""Whose clones are streams."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.http.test_visit import scope

from trunkline.config.hg import Hg
from trunkline.http.near import near_clients
from trunkline.http.visit import Visit, read_visit

PASSED_ON = (b"x-forwarded-for", b"192.168.7.7")


def visit(*headers: tuple[bytes, bytes], client: str = "127.0.0.1", **options: Any) -> Visit:
    return read_visit(scope(*headers, client=client), options.get("trusted", ()))


@pytest.mark.parametrize(
    "client", ["127.0.0.1", "::1", "10.9.8.7", "172.16.0.1", "192.168.1.2", "fd00::1", "unix", ""]
)
def test_loopback_and_private_networks_are_near(client: str) -> None:
    assert near_clients(Hg())(visit(client=client))


@pytest.mark.parametrize("client", ["8.8.8.8", "172.32.0.1", "2001:db8::1", "nonsense"])
def test_others_are_not(client: str) -> None:
    assert not near_clients(Hg())(visit(client=client))


def test_operator_names_the_networks() -> None:
    is_near = near_clients(Hg(stream_networks=["198.51.100.0/24"]))
    assert is_near(visit(client="198.51.100.9"))
    assert not is_near(visit(client="127.0.0.1"))


@pytest.mark.parametrize(("policy", "expected"), [("always", True), ("never", False)])
def test_policy_without_a_look_at_the_address(policy: Any, expected: bool) -> None:
    is_near = near_clients(Hg(stream=policy))
    assert is_near(visit(client="8.8.8.8")) is expected
    assert is_near(visit(client="127.0.0.1")) is expected


def test_behind_a_trusted_proxy_the_client_counts() -> None:
    is_near = near_clients(Hg())
    assert is_near(visit(PASSED_ON, client="8.8.8.8", trusted={"8.8.8.8"}))
    far = (b"x-forwarded-for", b"8.8.8.8")
    assert not is_near(visit(far, trusted={"127.0.0.1"}))


def test_proxy_that_does_not_tell_makes_nobody_near() -> None:
    assert not near_clients(Hg())(visit(trusted={"127.0.0.1"}))


@pytest.mark.parametrize("name", [b"x-forwarded-for", b"forwarded", b"via"])
def test_proxy_that_is_not_trusted_makes_nobody_near(name: bytes) -> None:
    assert not near_clients(Hg())(visit((name, b"10.0.0.1")))
