"""An HTTP client that costs next to nothing, so that what is measured is the server."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from urllib.parse import quote, quote_plus

Sink = Callable[[bytes], object]

READ_BYTES = 1 << 20
HEADER_BYTES = 1000  # of one X-HgArg-N header
PROTOCOL = "0.1 0.2 comp=zstd,zlib,none,bzip2 partial-pull"
BUNDLE2 = """HG20
bookmarks
changegroup=01,02,03
checkheads=related
error=abort,unsupportedcontent,pushraced,pushkey
hgtagsfnodes
listkeys
phases=heads
pushkey
stream=v2"""


@dataclass(frozen=True)
class Reading:
    """`bytes_body` counts the body as sent, chunk framing left out."""

    status: int
    bytes_body: int
    first_byte_s: float
    wall_s: float
    body: bytes

    def figures(self) -> dict[str, float]:
        figures = asdict(self)
        del figures["body"], figures["status"]
        return figures


class Connection:
    """One keep-alive connection. Bodies may be chunked or counted."""

    def __init__(self, port: int, read_bytes: int = READ_BYTES) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = b""
        self._read_bytes = read_bytes

    def close(self) -> None:
        self._socket.close()

    def _more(self) -> None:
        data = self._socket.recv(self._read_bytes)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._held += data

    def _line(self, end: bytes = b"\r\n") -> bytes:
        while end not in self._held:
            self._more()
        line, _, self._held = self._held.partition(end)
        return line

    def _take(self, count: int, sink: Sink | None) -> None:
        """Pass `count` bytes."""
        while count:
            data = self._held or self._socket.recv(min(count, self._read_bytes))
            if not data:
                raise ConnectionError("the server closed the connection in mid-body")
            used, self._held = data[:count], data[count:]
            count -= len(used)
            if sink is not None:
                sink(used)

    def ask(self, path: str, headers: Mapping[str, str]) -> None:
        lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())

    def drop(self, count: int) -> None:
        """Take so many bytes at most, of what is there."""
        self._socket.setblocking(False)
        with suppress(BlockingIOError):
            self._socket.recv(count)

    def get(
        self,
        path: str,
        headers: Mapping[str, str],
        keep: bool = False,
        sink: Sink | None = None,
    ) -> Reading:
        """The bytes are dropped; or kept, or given to `sink`."""
        started = time.perf_counter()
        self.ask(path, headers)
        head = self._line(b"\r\n\r\n").split(b"\r\n")
        fields = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in head[1:])
        }
        kept: list[bytes] = []
        sink = kept.append if keep else sink
        size = 0
        if b"content-length" in fields:
            size = int(fields[b"content-length"])
            first = time.perf_counter()
            self._take(size, sink)
        else:
            count = int(self._line(), 16)
            first = time.perf_counter()
            while count:
                self._take(count, sink)
                size += count
                self._line()
                count = int(self._line(), 16)
            self._line()
        ended = time.perf_counter()
        status = int(head[0].split()[1])
        return Reading(status, size, first - started, ended - started, b"".join(kept))


def argument_headers(arguments: Mapping[str, str]) -> dict[str, str]:
    """Arguments as a stock client puts them into X-HgArg-N headers."""
    text = "&".join(f"{name}={quote_plus(value)}" for name, value in sorted(arguments.items()))
    headers = {"X-HgProto-1": PROTOCOL, "Accept": "application/mercurial-0.1"}
    for number, start in enumerate(range(0, len(text), HEADER_BYTES), 1):
        headers[f"X-HgArg-{number}"] = text[start : start + HEADER_BYTES]
    headers["Vary"] = ",".join(name for name in headers if name.startswith("X-Hg"))
    return headers


def getbundle(heads: list[str], common: list[str], stream: bool = False) -> dict[str, str]:
    """Headers of the getbundle that `hg clone` (or a pull with `common`) sends."""
    arguments = {
        "bookmarks": "1",
        "bundlecaps": f"HG20,bundle2={quote(BUNDLE2)}",
        "cg": "0" if stream else "1",
        "common": " ".join(common),
        "heads": " ".join(heads),
        "listkeys": "bookmarks",
        "phases": "1",
    }
    if stream:
        arguments["stream"] = "1"
    return argument_headers(arguments)
