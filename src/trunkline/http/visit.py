"""One HTTP request, read out of an ASGI scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.config.networks import UNIX
from trunkline.http.forwarded import forwarded_address, forwarded_prefix, forwarded_scheme
from trunkline.http.own_url import reached_host

NONE: frozenset[bytes] = frozenset()
LISTS = frozenset({b"dav", b"accept-encoding", b"if", b"x-svn-options"})

Scope = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Visit:
    """`raw_path` is as it was sent to us, percent-encoding and all. `address` has no port."""

    method: str
    raw_path: bytes
    query: bytes
    headers: Mapping[bytes, bytes]  # names in lower case
    address: str
    scheme: str
    server: Sequence[Any] | None = None  # where it came in: host and port
    is_proxied: bool = False  # by a proxy that we trust, whose headers these are
    repeated: frozenset[bytes] = frozenset()  # names of headers that came more than once
    reached_host: str = ""  # what the client calls us; "" where that can't be known
    prefix: bytes = b""  # of its path, taken off by a proxy; no slash at its end
    head_bytes: int = 0
    peer: Sequence[Any] | None = None  # the connection's other end: host and port
    http_version: str = "1.1"
    is_plain: bool = True  # the connection, without TLS of ours

    @property
    def user_agent(self) -> str:
        return self.headers.get(b"user-agent", b"").decode("latin-1")

    @property
    def is_svn(self) -> bool:
        """Whether a Subversion client asks."""
        return self.user_agent.startswith("SVN/")

    @property
    def host(self) -> str:
        """What the client calls us; where it doesn't say, the address that it has reached."""
        named = self.reached_host or self.headers.get(b"host", b"").decode("latin-1")
        return named or server_name(self.server)

    @property
    def base_url(self) -> str:
        """Of `/`, as the client would write it, without a slash at its end."""
        return f"{self.scheme}://{self.host}{self.prefix.decode('latin-1')}"


def read_visit(scope: Scope, trusted_proxies: Container[str]) -> Visit:
    headers = dict(scope["headers"])
    if len(headers) < len(scope["headers"]):
        headers.update(joined(scope["headers"]))
    client = scope.get("client")
    address = (client[0] if client else "") or UNIX
    scheme: str = scope["scheme"]
    is_proxied = address in trusted_proxies
    if is_proxied:
        address = forwarded_address(headers) or address
        scheme = forwarded_scheme(headers) or scheme
    raw_path = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    return Visit(
        scope["method"],
        raw_path,
        scope["query_string"],
        headers,
        address,
        scheme,
        scope.get("server"),
        is_proxied,
        repeated(scope["headers"]) if len(headers) < len(scope["headers"]) else NONE,
        reached_host(headers, is_proxied, scope.get("http_version", "")),
        forwarded_prefix(headers) if is_proxied else b"",
        len(raw_path) + len(scope["query_string"]) + sum(map(header_bytes, scope["headers"])),
        client if client and client[0] else None,
        scope.get("http_version", ""),
        scope["scheme"] == "http",
    )


def header_bytes(header: tuple[bytes, bytes]) -> int:
    return len(header[0]) + len(header[1]) + len(b": \r\n")


def repeated(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    counts = Counter(name for name, _ in headers)
    return frozenset(name for name, count in counts.items() if count > 1)


def joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Lists that come as several headers, as one. Source: RFC 9110, 5.3."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in LISTS:
            found.setdefault(name, []).append(value)
    return {name: b", ".join(values) for name, values in found.items()}


def describe(visit: Visit) -> str:
    """For the log."""
    return f"{visit.method} {visit.raw_path.decode('latin-1')}"


def server_name(server: Sequence[Any] | None) -> str:
    """Of a unix socket there is no port, and nothing that a client could write into a URL."""
    if not server or not server[1]:
        return "localhost"
    host, port = server[0], server[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
