from __future__ import annotations

from base64 import b64encode

import pytest

from trunkline.access.credentials import (
    HEADER_LIMIT,
    PASSWORD_LIMIT,
    Basic,
    Bearer,
    parse_authorization,
)
from trunkline.errors import PeerError


def basic(text: bytes) -> bytes:
    return b"Basic " + b64encode(text)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (basic(b"alice:secret"), Basic("alice", b"secret")),
        (basic(b"alice:a:b"), Basic("alice", b"a:b")),
        (basic(b"alice:"), Basic("alice", b"")),
        (basic(b":x"), Basic("", b"x")),
        (basic("jürgen:ß".encode()), Basic("jürgen", "ß".encode())),
        (basic(b"j\xfcrgen:\xdf"), Basic("j\udcfcrgen", b"\xdf")),
        (b"BASIC  " + b64encode(b"a:b") + b" ", Basic("a", b"b")),
        (b"bearer abc.DEF-1~+/=", Bearer("abc.DEF-1~+/=")),
        (b"Negotiate abc", None),
        (b"", None),
    ],
)
def test_parses(value: bytes, found: Basic | Bearer | None) -> None:
    assert parse_authorization(value) == found


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (b"Basic", 400),
        (b"Basic !!", 400),
        (basic(b"alice:b")[:-1], 400),
        (basic(b"alice"), 400),
        (basic(b"alice:a\0b"), 400),
        (basic(b"a:" + b"x" * (PASSWORD_LIMIT + 1)), 400),
        (b"Bearer", 400),
        (b"Bearer a b", 400),
        (b"Bearer \xff", 400),
        (b"x" * (HEADER_LIMIT + 1), 431),
    ],
)
def test_refuses(value: bytes, status: int) -> None:
    with pytest.raises(PeerError) as caught:
        parse_authorization(value)
    assert caught.value.status == status


def test_longest_password() -> None:
    password = b"x" * PASSWORD_LIMIT
    assert parse_authorization(basic(b"a:" + password)) == Basic("a", password)


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr((Basic("alice", b"secret"), Bearer("secret")))
