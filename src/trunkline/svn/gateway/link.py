"""One connection to an upstream: requests go out one after another, answers come in that order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import httptools

from trunkline.svn.gateway.exchange import Exchange
from trunkline.svn.gateway.message import Head, Headers

UNLIMITED = 1 << 60
SMALL = 1 << 16  # bytes of a request that goes in one piece
TOGETHER_SECONDS = 0.01  # that a small request waits for others


class Link(asyncio.Protocol):
    """`left` is how many more requests the upstream takes, as far as it has said; `on_limit` is
    told how many it takes of one connection.
    """

    def __init__(
        self, left: int = UNLIMITED, on_limit: Callable[[int], None] = lambda _: None
    ) -> None:
        self.unanswered: deque[Exchange] = deque()
        self.unanswered_size = 0
        self.answered = 0  # in all
        self.pipelined = 0  # of those, before others that were sent already
        self.left = left
        self._on_limit = on_limit
        self.was_kept = False  # by nobody in particular, for a while
        self.is_lost = False
        self.is_last = False  # the upstream said that it reads no more requests
        self.was_idle = True  # at the last sending, and no answer since
        self.on_change: Callable[[], None] = lambda: None
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: Headers = []
        self._unsent: list[bytes] = []
        self._unsent_size = 0
        self._flushed = 0.0  # the loop's time of the last writing
        self._flushing: asyncio.TimerHandle | None = None
        self._can_write = asyncio.Event()
        self._can_write.set()

    @property
    def is_usable(self) -> bool:
        return not self.is_lost and not self.is_last and self.left > 0

    def begin(self, exchange: Exchange, host: bytes) -> None:
        """A head, whose body follows: `write_chunk`."""
        assert self._transport is not None
        self._transport.write(self._register(exchange, host))

    async def write_chunk(self, data: bytes) -> None:
        """b"" is the last."""
        assert self._transport is not None
        self._transport.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._can_write.wait()

    def _register(self, exchange: Exchange, host: bytes) -> bytes:
        """Its head."""
        if not self.unanswered:
            self.was_idle = True
        is_first = not self.answered and not self.unanswered
        self.unanswered.append(exchange)
        self.unanswered_size += exchange.size
        self.left -= 1
        exchange.on_read = self._resume
        return exchange.request.head(host, is_first)

    async def send(self, exchange: Exchange, host: bytes) -> None:
        assert self._transport is not None
        head = self._register(exchange, host)
        body = exchange.request.body
        if self.is_lost:
            return
        if body.size <= SMALL:
            self._write_soon(head + body.read(), exchange.can_wait)
        else:
            self._write_soon(head, can_wait=False)
            for block in body.blocks():
                await self._can_write.wait()
                if self.is_lost:
                    return
                self._transport.write(block)
        await self._can_write.wait()

    def _write_soon(self, data: bytes, can_wait: bool) -> None:
        """Small requests that come in quick succession go together."""
        self._unsent.append(data)
        self._unsent_size += len(data)
        loop = asyncio.get_running_loop()
        is_due = loop.time() >= self._flushed + TOGETHER_SECONDS
        if not can_wait or is_due or self._unsent_size > SMALL:
            self._flush()
        elif self._flushing is None:
            self._flushing = loop.call_later(TOGETHER_SECONDS, self._flush)

    def _flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        self._flushed = asyncio.get_running_loop().time()
        data = b"".join(self._unsent)
        self._unsent.clear()
        self._unsent_size = 0
        if data and self._transport is not None and not self.is_lost:
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._flush()
            self._transport.close()

    # asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def pause_writing(self) -> None:
        self._can_write.clear()

    def resume_writing(self) -> None:
        self._can_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self._can_write.set()
        first = self.unanswered[0] if self.unanswered else None
        if exc is None and first is not None and first.head is not None and is_unframed(first.head):
            self.on_message_complete()  # it ended with the connection
        self.on_change()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.close()  # no HTTP: as good as lost

    def _resume(self) -> None:
        if self._transport is not None and not self.is_lost:
            self._transport.resume_reading()

    # httptools'

    def on_message_begin(self) -> None:
        self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        head = Head(self._parser.get_status_code(), self._headers)
        if head.status < 200 or not self.unanswered:
            return
        self._learn(head)
        self.unanswered[0].feed_head(head)
        if self.unanswered[0].request.method == b"HEAD":  # sent alone: nothing follows
            self._parser = httptools.HttpResponseParser(self)
            self._complete()

    def on_body(self, data: bytes) -> None:
        if self.unanswered and self._transport is not None:
            self.unanswered[0].feed_data(data)
            if self.unanswered[0].is_full:
                self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self.unanswered and self.unanswered[0].head is not None:
            self._complete()

    def _complete(self) -> None:
        exchange = self.unanswered.popleft()
        self.unanswered_size -= exchange.size
        self.answered += 1
        self.pipelined += bool(self.unanswered)
        self.was_idle = False
        exchange.finish()
        self.on_change()

    def _learn(self, head: Head) -> None:
        """How long the upstream keeps the connection. Wire: Keep-Alive: timeout=5, max=99."""
        if b"close" in (head.header(b"connection") or b"").lower():
            self.is_last = True
        for part in (head.header(b"keep-alive") or b"").split(b","):
            name, _, value = part.strip().partition(b"=")
            if name.lower() == b"max" and value.isdigit():
                self.left = max(0, int(value) - (len(self.unanswered) - 1))
                self._on_limit(self.answered + 1 + int(value))


def is_unframed(head: Head) -> bool:
    return head.header(b"content-length") is None and head.header(b"transfer-encoding") is None
