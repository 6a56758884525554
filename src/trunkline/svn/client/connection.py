"""One HTTP/1.1 connection of a client, pipelined: requests don't wait for earlier ones' answers."""

from __future__ import annotations

import select
import ssl
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from time import monotonic
from typing import Protocol
from urllib.parse import urlsplit

import httptools

from trunkline.svn.client.failed import CommitFailed

WINDOW = 64  # requests that are sent and not answered: their answers fit into the socket's buffers
ANSWER_LIMIT = 1 << 20  # bytes of an answer that are kept
TIMEOUT_SECONDS = 300  # without a byte from the server; a commit may take its time
READ = 1 << 16  # bytes


class HasFileno(Protocol):
    def fileno(self) -> int: ...


class Lost(Exception):
    """The connection ended before all answers came."""


@dataclass(eq=False, slots=True)
class Ask:
    """A request. `body` is read anew each time it is sent, and must be `size` bytes."""

    method: str
    target: bytes
    headers: dict[str, str] = field(default_factory=dict)
    size: int = 0
    body: Iterable[bytes] = ()
    path: str | None = None  # for words

    def head(self, fixed: bytes) -> bytes:
        lines = [b"%s %s HTTP/1.1\r\n" % (self.method.encode(), self.target), fixed]
        lines += [f"{name}: {value}\r\n".encode() for name, value in self.headers.items()]
        return b"".join([*lines, b"Content-Length: %d\r\n\r\n" % self.size])


@dataclass(slots=True)
class Said:
    """An answer. Names of headers are lower case; values of one name are joined by commas."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True)
class Server:
    """Where connections go. `tls` None: that of Python, which verifies certificates and names."""

    url: str
    user: str | None = None
    password: str = ""
    tls: ssl.SSLContext | None = None

    def open(self) -> HTTPConnection:
        """Raises: CommitFailed."""
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port
        made: HTTPConnection
        if parts.scheme == "https":
            context = self.tls or ssl.create_default_context()
            made = HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=context)
        else:
            made = HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        try:
            made.connect()
        except OSError as error:
            raise CommitFailed(f"{parts.netloc} can't be reached: {error}") from None
        return made

    def fixed_headers(self) -> bytes:
        host = urlsplit(self.url).netloc.rpartition("@")[2]
        lines = f"Host: {host}\r\nUser-Agent: SVN/1.14 trunkline\r\n"
        if self.user is not None:
            token = b64encode(f"{self.user}:{self.password}".encode()).decode()
            lines += f"Authorization: Basic {token}\r\n"
        return lines.encode()


class Connection:
    """For one thread. Raises: CommitFailed."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._fixed = server.fixed_headers()
        self._waiting: deque[Ask] = deque()
        self._answers: deque[Said] = deque()
        self.last_answer = monotonic()
        self._connect()

    def _connect(self) -> None:
        self._http = self._server.open()
        self._parser = httptools.HttpResponseParser(self)
        self._said = Said()
        self._is_closing = False
        self._has_answered = False

    def close(self) -> None:
        self._http.close()

    def ask_once(self, ask: Ask) -> Said:
        """One that is never sent twice. Raises: Lost, besides."""
        if self._is_closing or has_news(self._http.sock):
            self.close()
            self._connect()
        try:
            self._send(ask)
        except OSError as error:
            raise Lost(str(error)) from None
        return self._receive()

    def ask_all(self, asks: Iterable[Ask]) -> Iterator[tuple[Ask, Said]]:
        """Answers in order. What isn't answered when a connection ends is sent once more by
        another, if that one answered anything."""
        for ask in asks:
            self._waiting.append(ask)
            try:
                self._send(ask)
            except OSError:
                pass  # what the server has to say of it is read next, if it said anything
            while len(self._waiting) >= WINDOW:
                yield self._take()
        while self._waiting:
            yield self._take()

    def _take(self) -> tuple[Ask, Said]:
        while True:
            try:
                said = self._receive()
            except Lost as error:
                self._send_again(error)
                continue
            return self._waiting.popleft(), said

    def _send_again(self, why: Lost) -> None:
        self.close()
        if not self._has_answered:
            ask = self._waiting[0]
            text = f"the connection was lost at {ask.method} of '{ask.path or ''}': {why}"
            raise CommitFailed(text, path=ask.path)
        self._connect()
        try:
            for ask in self._waiting:
                self._send(ask)
        except OSError:
            pass

    def _send(self, ask: Ask) -> None:
        """Raises: OSError of the connection, CommitFailed for a file."""
        sock, left = self._http.sock, ask.size
        head = ask.head(self._fixed)
        for block in ask.body:
            left -= len(block)
            if left < 0:
                break
            sock.sendall(head + block)
            head = b""
        if left:
            raise CommitFailed(f"'{ask.path}' changed while it was read", path=ask.path)
        if head:
            sock.sendall(head)

    def _receive(self) -> Said:
        """Raises: Lost."""
        while not self._answers:
            if self._is_closing:
                raise Lost("the server closed it")
            try:
                data = self._http.sock.recv(READ)
                self._parser.feed_data(data)
            except (OSError, httptools.HttpParserError) as error:
                raise Lost(str(error)) from None
            if not data:
                raise Lost("the server closed it")
        self._has_answered = True
        self.last_answer = monotonic()
        return self._answers.popleft()

    # httptools'

    def on_message_begin(self) -> None:
        self._said = Said()

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._said.headers.get(key)
        self._said.headers[key] = text if known is None else f"{known}, {text}"

    def on_body(self, data: bytes) -> None:
        if len(self._said.body) < ANSWER_LIMIT:
            self._said.body += data

    def on_message_complete(self) -> None:
        self._said.status = self._parser.get_status_code()
        if self._said.status >= 200:
            self._is_closing = not self._parser.should_keep_alive()
            self._answers.append(self._said)


def has_news(sock: HasFileno) -> bool:
    """Of a connection where nothing is asked: the server closed it."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
