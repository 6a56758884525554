"""HTTP messages as values, and their heads on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from os import SEEK_END
from tempfile import SpooledTemporaryFile

Headers = list[tuple[bytes, bytes]]

BODY_IN_MEMORY = 256 * 1024  # bytes of one body; past it, a file without a name
BLOCK = 256 * 1024  # bytes
PHRASES = {one.value: one.phrase.encode() for one in HTTPStatus}

# A proxy's own business with each of its two peers.
HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-connection proxy-authorization proxy-authenticate te trailer"
    b" transfer-encoding upgrade content-length expect".split()
)


class Body:
    """A whole body, in memory while it is small. Read any number of times."""

    def __init__(self, data: bytes = b"") -> None:
        self.size = 0
        self._file = SpooledTemporaryFile(max_size=BODY_IN_MEMORY)  # noqa: SIM115
        self.write(data)

    def write(self, data: bytes) -> None:
        self.size += len(data)
        self._file.seek(0, SEEK_END)
        self._file.write(data)

    def blocks(self) -> Iterator[bytes]:
        at = 0
        while at < self.size:
            self._file.seek(at)
            block = self._file.read(BLOCK)
            at += len(block)
            yield block

    def read(self, limit: int = BODY_IN_MEMORY) -> bytes:
        self._file.seek(0)
        return self._file.read(limit)

    def close(self) -> None:
        self._file.close()


@dataclass(slots=True)
class Request:
    """`origin` is what a client says to a proxy: "http://host:port". `target` is path and query.
    `is_streamed`: its body isn't here, and follows in chunks.
    """

    method: bytes
    target: bytes
    headers: Headers = field(default_factory=list)
    body: Body = field(default_factory=Body)
    origin: bytes = b""
    is_streamed: bool = False

    def header(self, name: bytes) -> bytes | None:
        return find(self.headers, name)

    def want_plain(self) -> None:
        """Its answer is looked at: no content coding."""
        self.headers = [one for one in self.headers if one[0].lower() != b"accept-encoding"]

    def head(self, host: bytes, is_first: bool = False) -> bytes:
        """As it goes upstream. The first of a connection asks how many more may follow: Apache
        doesn't say unless it is asked.
        """
        lines = [b"%s %s HTTP/1.1\r\nHost: %s\r\n" % (self.method, self.target, host)]
        if is_first:
            lines.append(b"Connection: Keep-Alive\r\n")
        lines += kept(self.headers, HOP_BY_HOP | {b"host"})
        if self.is_streamed:
            lines.append(b"Transfer-Encoding: chunked\r\n")
        elif self.body.size or self.method in (b"PUT", b"POST"):
            lines.append(b"Content-Length: %d\r\n" % self.body.size)
        return b"".join(lines) + b"\r\n"


@dataclass(frozen=True, slots=True)
class Head:
    """Of an answer."""

    status: int
    headers: Headers

    def header(self, name: bytes) -> bytes | None:
        return find(self.headers, name)

    def format(self, framing: bytes) -> bytes:
        """`framing` is the header line that says where the body ends, if there is any."""
        lines = [status_line(self.status), *kept(self.headers, HOP_BY_HOP)]
        return b"".join(lines) + framing + b"\r\n"


def find(headers: Headers, name: bytes) -> bytes | None:
    for key, value in headers:
        if key.lower() == name:
            return value
    return None


def kept(headers: Headers, without: frozenset[bytes]) -> list[bytes]:
    return [b"%s: %s\r\n" % one for one in headers if one[0].lower() not in without]


def status_line(status: int) -> bytes:
    return b"HTTP/1.1 %d %s\r\n" % (status, PHRASES.get(status, b"Status"))


def response(status: int, headers: Headers | None = None, body: bytes = b"") -> bytes:
    """A whole answer of our own."""
    framing = b"" if status == 204 else b"Content-Length: %d\r\n" % len(body)
    return Head(status, headers or []).format(framing) + body
