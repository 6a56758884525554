"""One HTTP request, and its reply printed as Mercurial's tests/get-with-headers.py would."""

from __future__ import annotations

import http.client
import re
from collections.abc import Mapping
from dataclasses import dataclass

SECONDS = 120
LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)

# Stock's reason phrase. HTTP gives a reason phrase no meaning (RFC 9112, section 4: a client ought
# to ignore it), and Granian lets no application choose it, so the transcript's first line is
# written here from the status alone.
REASONS = {200: b"Script output follows"}


@dataclass(frozen=True)
class Reply:
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str | None:
        return self.headers.get(name.lower())

    def printed(self, *shown: str, header_only: bool = False) -> bytes:
        """Status line, the headers named (`-`: all, sorted), a blank line, the body."""
        names = sorted(self.headers) if shown == ("-",) else [name.lower() for name in shown]
        reason = REASONS.get(self.status, self.reason.encode())
        lines = [b"%d %s\n" % (self.status, reason)]
        lines += [f"{name}: {self.headers[name]}\n".encode() for name in names]
        if not header_only:
            lines += [b"\n", self.body]
        return b"".join(lines)


def request(
    address: str,
    path: str,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    body: bytes | None = None,
) -> Reply:
    """Send one request on a connection of its own; read the whole reply."""
    connection = http.client.HTTPConnection(address, timeout=SECONDS)
    try:
        connection.request(method, path, body, dict(headers or {}))
        reply = connection.getresponse()
        named = {name.lower(): value for name, value in reply.getheaders()}
        return Reply(reply.status, reply.reason, named, reply.read())
    finally:
        connection.close()


def get(address: str, query: str, hgproto: str | None = None) -> Reply:
    """A GET of `/QUERY` as get-with-headers.py sends it: nothing but the header asked for."""
    return request(address, "/" + query, {"X-HgProto-1": hgproto} if hgproto else {})


def whole_body(reply: bytes) -> bytes | None:
    """The body of all that a connection gave; None: it was broken off.

    A spooled reply has a length when its build was quicker than the first of its bytes, and
    comes in chunks otherwise: either is right.
    """
    head, _, rest = reply.partition(b"\r\n\r\n")
    if length := LENGTH.search(head):
        return rest if len(rest) == int(length[1]) else None
    parts: list[bytes] = []
    at = 0
    while (end := rest.find(b"\r\n", at)) >= 0:
        size, at = int(rest[at:end], 16), end + 2
        if len(rest) < at + size + 2:
            return None
        if not size:
            return b"".join(parts)
        parts.append(rest[at : at + size])
        at += size + 2
    return None
