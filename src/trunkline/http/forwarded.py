"""What a reverse proxy says of the request that it has passed on: `X-Forwarded-*`. (Its host:
`own_url`.)

Of each header the last word counts: the one that our own proxy wrote. What is malformed is as if it
weren't there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address

Headers = Mapping[bytes, bytes]  # names in lower case

PREFIX_LIMIT = 1024  # bytes
PREFIX = re.compile(rb"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+")


def forwarded_address(headers: Headers) -> str:
    """ "" when it is no address."""
    try:
        return str(ip_address(last(headers, b"x-forwarded-for")[:64].decode("latin-1").strip("[]")))
    except ValueError:
        return ""


def forwarded_scheme(headers: Headers) -> str:
    value = last(headers, b"x-forwarded-proto").lower()
    return value.decode("latin-1") if value in (b"http", b"https") else ""


def forwarded_prefix(headers: Headers) -> bytes:
    """The path that the proxy has taken off, without a slash at its end."""
    value = last(headers, b"x-forwarded-prefix").rstrip(b"/")
    return value if len(value) <= PREFIX_LIMIT and PREFIX.fullmatch(value) else b""


def last(headers: Headers, name: bytes) -> bytes:
    return headers.get(name, b"").rpartition(b",")[2].strip()
