"""Sends a file on the connection's own socket: the kernel copies it, and nothing of it comes here.

The reply is written by us from its first byte to its last, and the connection closed. The HTTP
library, which has written nothing of it, waits for an answer until then, and finds the connection
shut. So this is for replies that are worth a connection, on plain TCP and Linux.

Sources: RFC 9112, sections 6.1, 7.1 and 9.6; sendfile(2), and preadv2(2) on RWF_NOWAIT.
"""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from trunkline.errors import ClientGone, StoreError
from trunkline.http.body import RequestBody
from trunkline.http.connection import find_connection, has_unsent, reset_when_closed
from trunkline.http.follow import Followed, Following, forget
from trunkline.http.send import Headers, Sent
from trunkline.http.visit import Visit

LEAST_BYTES = 1024 * 1024  # of a reply whose length is known
STEP = 2 * 1024 * 1024  # bytes at once, which take 0.3 ms; others have their turn in between
# While a file grows, a reader waits for so much of the time that it has taken: many small pieces to
# many readers would cost more.
PAUSE = 1 / 8
PAUSE_SECONDS = 0.25  # at most
QUIET_SECONDS = 0.001
BREAK = re.compile(rb"[\r\n\0]")
MORE = getattr(socket, "MSG_MORE", 0)


def may_be_direct(visit: Visit, following: Following) -> bool:
    """Whether it is worth the search."""
    length = following.length
    return (
        sys.platform == "linux"
        and visit.peer is not None
        and visit.is_plain
        and visit.http_version == "1.1"
        and b"expect" not in visit.headers
        and (length is None or length >= LEAST_BYTES)
    )


async def take_connection(visit: Visit, following: Following) -> socket.socket | None:
    """None: the HTTP library is to send it. All that it wrote before has left: a client that
    reads a reply before it asks again has seen to that. `following` is released if this fails.
    """
    if not may_be_direct(visit, following):
        return None
    assert visit.peer is not None
    with ExitStack() as stack:
        stack.callback(following.file.release)
        connection = await following.file.threads.run(find_connection, visit.peer)
        if connection is not None:
            with ExitStack() as ours:
                ours.enter_context(connection)
                if await is_quiet(connection):
                    ours.pop_all()
                else:
                    connection = None
        stack.pop_all()
        return connection


async def is_quiet(connection: socket.socket) -> bool:
    try:
        if has_unsent(connection):
            return False
        await asyncio.sleep(QUIET_SECONDS)  # for what the library was just going to write
        return not has_unsent(connection)
    except OSError:
        return False


async def send_direct(
    connection: socket.socket,
    body: RequestBody,
    following: Following,
    status: int,
    headers: Headers,
    idle_seconds: float,
    sent: Sent,
) -> None:
    """As `send_file`; the connection is closed, and whatever the library says then goes nowhere."""
    out = Outlet(connection, body.gone, idle_seconds)
    try:
        is_framed = following.length is None
        await out.write(head(status, [*headers, *following.headers], is_framed))
        await send_body(out, following, is_framed, sent)
    except (TimeoutError, ClientGone):
        sent.is_gone = True
    except Exception as failure:
        sent.failure = failure
    finally:
        following.file.release()
        if sent.is_gone or sent.failure is not None:
            reset_when_closed(connection)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        connection.close()


def head(status: int, headers: Iterable[tuple[bytes, bytes]], is_framed: bool) -> bytes:
    """Raises: ValueError when a header would be more than one line."""
    lines = [b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())]
    for name, value in headers:
        if BREAK.search(name) or BREAK.search(value):
            raise ValueError(f"a header of more than one line: {name!r}")
        lines.append(b"%s: %s" % (name, value))
    if is_framed:
        lines.append(b"transfer-encoding: chunked")
    lines.append(b"date: " + formatdate(usegmt=True).encode())
    lines.append(b"connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def send_body(out: Outlet, following: Following, is_framed: bool, sent: Sent) -> None:
    """Raises: ClientGone, StoreError, TimeoutError."""
    begun = time.monotonic()
    if following.head:
        await out.write(following.head)
        sent.bytes += len(following.head)
    file, offset, end = following.file, following.start, following.end
    while end is None or offset < end:
        look = await out.or_gone(file.beyond(offset))
        size = (look.size if end is None else end) - offset
        if size <= 0:
            if not look.is_whole:
                raise StoreError(f"the build of this reply broke off after {look.size} bytes")
            break
        if is_framed:
            await out.write(b"\r\n%x\r\n" % size if offset else b"%x\r\n" % size)
        await out.write_file(file, offset, size, sent)
        offset += size
        if not look.is_over and size < STEP:
            taken = time.monotonic() - begun
            await out.or_gone(asyncio.sleep(min(taken * PAUSE, PAUSE_SECONDS)))
    if is_framed:
        await out.write(b"\r\n0\r\n\r\n", is_last=True)


class Outlet:
    """What is written waits for room, as long as the client is there and takes something within
    `idle_seconds`.
    """

    def __init__(
        self, connection: socket.socket, gone: asyncio.Future[None], idle_seconds: float
    ) -> None:
        self._connection = connection
        self._gone = gone
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()

    async def write(self, data: bytes, is_last: bool = False) -> None:
        """Raises: ClientGone, TimeoutError."""
        while data:
            try:
                data = data[self._connection.send(data, 0 if is_last else MORE) :]
            except BlockingIOError:
                await self._room()
            except OSError as error:
                raise ClientGone(str(error)) from error

    async def write_file(self, file: Followed[Any], offset: int, size: int, sent: Sent) -> None:
        """Raises: ClientGone, StoreError, TimeoutError."""
        end = offset + size
        while offset < end:
            step = min(end - offset, STEP)
            try:
                count = await file.send_to(self._connection.fileno(), offset, step)
            except BlockingIOError:
                await self._room()
                continue
            except ConnectionError as error:
                raise ClientGone(str(error)) from error
            offset += count
            sent.bytes += count
            if count == step:
                await asyncio.sleep(0)
            if self._gone.done():
                raise ClientGone("the client went away")

    async def or_gone(self, wanted: Any) -> Any:
        """Raises: ClientGone."""
        waiting = asyncio.ensure_future(wanted)
        await asyncio.wait((waiting, self._gone), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            waiting.add_done_callback(forget)
            raise ClientGone("the client went away")
        return waiting.result()

    async def _room(self) -> None:
        """Raises: ClientGone, TimeoutError."""
        ready: asyncio.Future[None] = self._loop.create_future()
        descriptor = self._connection.fileno()
        self._loop.add_writer(descriptor, settle, ready)
        try:
            await asyncio.wait(
                (ready, self._gone),
                timeout=self._idle_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            self._loop.remove_writer(descriptor)
        if self._gone.done():
            raise ClientGone("the client went away")
        if not ready.done():
            raise TimeoutError


def settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
