"""One HTTP request, read out of an ASGI scope."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from trunkline.config.proxies import UNIX
from trunkline.http.own_url import reached_host

Scope = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Visit:
    """`raw_path` is as it was sent, percent-encoding and all. `address` has no port."""

    method: str
    raw_path: bytes
    query: bytes
    headers: Mapping[bytes, bytes]  # names in lower case
    address: str
    scheme: str
    server: Sequence[Any] | None = None  # where it came in: host and port
    reached_host: str = ""  # what the client calls us; "" where that can't be known

    @property
    def user_agent(self) -> str:
        return self.headers.get(b"user-agent", b"").decode("latin-1")

    @property
    def host(self) -> str:
        """What the client calls us; where it doesn't say, the address that it has reached."""
        named = self.reached_host or self.headers.get(b"host", b"").decode("latin-1")
        return named or server_name(self.server)


def read_visit(scope: Scope, trusted_proxies: Container[str]) -> Visit:
    headers = dict(scope["headers"])
    client = scope.get("client")
    address = (client[0] if client else "") or UNIX
    scheme: str = scope["scheme"]
    is_trusted = address in trusted_proxies
    if is_trusted:
        address = forwarded_address(headers) or address
        scheme = forwarded_scheme(headers) or scheme
    raw_path = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    query, server = scope["query_string"], scope.get("server")
    host = reached_host(headers, is_trusted, scope.get("http_version", ""))
    return Visit(scope["method"], raw_path, query, headers, address, scheme, server, host)


def describe(visit: Visit) -> str:
    """For the log."""
    return f"{visit.method} {visit.raw_path.decode('latin-1')}"


def server_name(server: Sequence[Any] | None) -> str:
    """Of a unix socket there is no port, and nothing that a client could write into a URL."""
    if not server or not server[1]:
        return "localhost"
    host, port = server[0], server[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def forwarded_address(headers: Mapping[bytes, bytes]) -> str:
    """The last word: the one that our own proxy wrote. "" when it is no address."""
    value = headers.get(b"x-forwarded-for", b"").rpartition(b",")[2].strip()
    try:
        return str(ip_address(value[:64].decode("latin-1").strip("[]")))
    except ValueError:
        return ""


def forwarded_scheme(headers: Mapping[bytes, bytes]) -> str:
    value = headers.get(b"x-forwarded-proto", b"").rpartition(b",")[2].strip().lower()
    return value.decode("latin-1") if value in (b"http", b"https") else ""
