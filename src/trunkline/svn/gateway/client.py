"""A client's connection: whole requests in, answers out in their order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque

import httptools

from trunkline.svn.gateway.exchange import Exchange, UpstreamLost
from trunkline.svn.gateway.gateway import Gateway, Reply, Session, gone, refusal
from trunkline.svn.gateway.message import Body, Headers, Request, response

log = logging.getLogger(__name__)

REQUESTS_HELD = 64  # of one client, read and not looked at
HEADERS_LIMIT = 256 * 1024  # bytes of one head: a deletion bears many lock tokens


class Client(asyncio.Protocol):
    def __init__(self, gateway: Gateway, clients: set[Client]) -> None:
        self._gateway = gateway
        self._clients = clients
        self._session = Session()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._url = bytearray()
        self._headers: Headers = []
        self._headers_size = 0
        self._body = Body()
        self._requests: deque[Request] = deque()
        self._replies: asyncio.Queue[Reply] = asyncio.Queue()
        self._held_up = 0  # replies that are to come, before one that is there
        self._came = asyncio.Event()
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._tasks: list[asyncio.Task[None]] = []
        self.ending: asyncio.Task[None] | None = None

    # asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._clients.add(self)
        self._tasks = [asyncio.create_task(self._serve()), asyncio.create_task(self._relay())]

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._transport.write(refusal(Request(b"CONNECT", b"")))
            self._transport.close()
        except httptools.HttpParserError:
            self._transport.write(response(400))
            self._transport.close()

    def pause_writing(self) -> None:
        self._can_write.clear()

    def resume_writing(self) -> None:
        self._can_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._can_write.set()
        for task in self._tasks[1:]:
            task.cancel()
        self._tasks[0].cancel()
        self.ending = asyncio.create_task(self._end())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def _end(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await self._session.close()
        finally:
            self._clients.discard(self)

    # httptools'

    def on_message_begin(self) -> None:
        self._url, self._headers, self._headers_size = bytearray(), [], 0
        self._body = Body()

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))
        self._count(len(name) + len(value))

    def _count(self, size: int) -> None:
        self._headers_size += size
        if self._headers_size > HEADERS_LIMIT:
            self.close()

    def on_body(self, data: bytes) -> None:
        self._body.write(data)

    def on_message_complete(self) -> None:
        origin, target = split_url(bytes(self._url))
        method = self._parser.get_method()
        self._requests.append(Request(method, target, self._headers, self._body, origin))
        self._came.set()
        if len(self._requests) > REQUESTS_HELD and self._transport is not None:
            self._transport.pause_reading()

    # Tasks

    async def _serve(self) -> None:
        assert self._transport is not None
        while True:
            while not self._requests:
                self._came.clear()
                await self._came.wait()
            request = self._requests.popleft()
            if len(self._requests) == REQUESTS_HELD:
                self._transport.resume_reading()
            try:
                reply = await self._gateway.reply(request, self._session)
            except Exception:
                log.exception("%s %s", request.method.decode(), request.target.decode())
                reply = response(500)
            if isinstance(reply, bytes) and not self._held_up:
                self._transport.write(reply)
                await self._can_write.wait()
            else:
                self._held_up += 1
                self._replies.put_nowait(reply)

    async def _relay(self) -> None:
        assert self._transport is not None
        while True:
            reply = await self._replies.get()
            if isinstance(reply, bytes):
                self._transport.write(reply)
                await self._can_write.wait()
            else:
                try:
                    await self._pass_on(reply)
                except UpstreamLost as error:
                    if reply.head is not None:
                        self._transport.abort()  # it can't be told from a whole one otherwise
                        return
                    self._transport.write(gone(error))
            self._held_up -= 1

    async def _pass_on(self, exchange: Exchange) -> None:
        """Raises: UpstreamLost."""
        assert self._transport is not None
        head = await exchange.wait_head()
        size = head.header(b"content-length")
        has_body = exchange.request.method != b"HEAD" and head.status not in (204, 304)
        is_chunked = has_body and size is None
        if is_chunked:
            framing = b"Transfer-Encoding: chunked\r\n"
        else:
            framing = b"" if size is None else b"Content-Length: %s\r\n" % size
        self._transport.write(head.format(framing))
        while data := await exchange.read():
            self._transport.write(b"%x\r\n%s\r\n" % (len(data), data) if is_chunked else data)
            await self._can_write.wait()
        if is_chunked:
            self._transport.write(b"0\r\n\r\n")


def split_url(url: bytes) -> tuple[bytes, bytes]:
    """ "http://host:port" and the path, of what a proxy is asked for."""
    scheme, found, rest = url.partition(b"://")
    if not found or url.startswith(b"/"):
        return b"", url
    host, slash, path = rest.partition(b"/")
    return scheme + found + host, slash + path or b"/"
