"""What a client sends to show who it is: the header `Authorization`."""

from __future__ import annotations

import binascii
from dataclasses import dataclass

from trunkline.errors import PeerError

HEADER_LIMIT = 8 * 1024  # bytes
PASSWORD_LIMIT = 1024  # bytes
TOKEN_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=")


@dataclass(frozen=True, slots=True)
class Basic:
    """Source: RFC 7617. `user` is UTF-8, other bytes are kept by surrogateescape."""

    user: str
    password: bytes

    def __repr__(self) -> str:
        """Without the password: it must get into no log."""
        return f"Basic({self.user!r})"


@dataclass(frozen=True, slots=True)
class Bearer:
    """Source: RFC 6750, section 2.1."""

    token: str

    def __repr__(self) -> str:
        return "Bearer()"


def parse_authorization(value: bytes) -> Basic | Bearer | None:
    """None for a scheme that isn't ours, which counts as nothing sent: the answer names ours.

    Raises: PeerError.
    """
    if len(value) > HEADER_LIMIT:
        raise PeerError(f"Authorization is longer than {HEADER_LIMIT} bytes", status=431)
    scheme, _, rest = value.strip().partition(b" ")
    rest = rest.strip()
    if scheme.lower() == b"basic":
        return parse_basic(rest)
    if scheme.lower() == b"bearer":
        if not rest or not TOKEN_BYTES.issuperset(rest):
            raise PeerError("Authorization: Bearer without a token, or with what can't be in one")
        return Bearer(rest.decode("ascii"))
    return None


def parse_basic(text: bytes) -> Basic:
    """Raises: PeerError."""
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise PeerError("Authorization: Basic isn't followed by base64") from None
    user, colon, password = data.partition(b":")
    if not colon or b"\0" in data:
        raise PeerError("Authorization: Basic holds no user and password")
    if len(password) > PASSWORD_LIMIT:
        raise PeerError(f"the password is longer than {PASSWORD_LIMIT} bytes")
    return Basic(user.decode("utf-8", "surrogateescape"), password)
