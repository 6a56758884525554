from __future__ import annotations

import socket
from pathlib import Path

import pytest

from trunkline.errors import SettingsError
from trunkline.http.listen import HAS_REUSEPORT, Address, Claim, is_reachable, parse_listen


@pytest.mark.parametrize(
    ("text", "address", "url", "is_local"),
    [
        ("127.0.0.1:0", Address("127.0.0.1", 0), "http://127.0.0.1:0", True),
        ("127.9.9.9:80", Address("127.9.9.9", 80), "http://127.9.9.9:80", True),
        ("0.0.0.0:8000", Address("0.0.0.0", 8000), "http://0.0.0.0:8000", False),
        ("192.0.2.1:8000", Address("192.0.2.1", 8000), "http://192.0.2.1:8000", False),
        ("[::1]:65535", Address("::1", 65535), "http://[::1]:65535", True),
        ("[::]:1", Address("::", 1), "http://[::]:1", False),
        ("unix:/run/t.sock", Address(path="/run/t.sock"), "unix:/run/t.sock", True),
    ],
)
def test_reads_an_address(text: str, address: Address, url: str, is_local: bool) -> None:
    assert parse_listen(text) == address
    assert address.url == url
    assert address.is_local is is_local


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1",
        ":8000",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:http",
        "127.0.0.1:-1",
        "127.0.0.1:٣",
        "::1:8000",
        "[::1]",
        "unix:",
        "no-such-host.invalid:80",
    ],
)
def test_refuses_what_is_none(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_listen(text)
    assert "\n" not in caught.value.text


def test_a_name_becomes_its_address() -> None:
    assert parse_listen("localhost:1").is_local


def test_claim_finds_a_free_port_and_keeps_it() -> None:
    claim = Claim(Address("127.0.0.1", 0))
    assert claim.address.port > 0
    assert not is_reachable(claim.address)
    if HAS_REUSEPORT:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", claim.address.port))
    claim.close()


@pytest.mark.parametrize("shares", [False, True])
def test_claim_refuses_a_port_that_somebody_has(shares: bool) -> None:
    with socket.socket() as other:
        if shares and HAS_REUSEPORT:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(SettingsError, match="Address already in use"):
            Claim(Address("127.0.0.1", other.getsockname()[1]))


def test_claim_refuses_an_address_of_another_machine() -> None:
    with pytest.raises(SettingsError, match=r"192\.0\.2\.1"):
        Claim(Address("192.0.2.1", 0))


def test_unix_socket_left_over_goes_and_a_live_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "t.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        with pytest.raises(SettingsError, match="already in use"):
            Claim(Address(path=str(path)))
        assert path.exists()
    Claim(Address(path=str(path)))
    assert not path.exists()
    path.write_text("precious")
    with pytest.raises(SettingsError, match="no socket"):
        Claim(Address(path=str(path)))
    assert path.read_text() == "precious"
