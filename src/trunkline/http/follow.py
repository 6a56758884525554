"""A spool file and those who follow it: one watch for all requests of this worker.

A slow reader holds a socket and a small piece of the file, whoever else reads it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from trunkline.errors import ClientGone, StoreError
from trunkline.http.blocks import READ_SIZE
from trunkline.http.body import RequestBody, Send
from trunkline.http.send import Headers, Sent
from trunkline.http.threads import Threads
from trunkline.spool.reading import Look
from trunkline.spool.stage import Stage

SHORTEST_SECONDS = 0.002  # between looks at a file, at first; somebody waits for the first byte
LONGEST_SECONDS = 0.05
SLOW_RATE = 1024 * 1024  # bytes a second; a client that takes less gets smaller pieces
SLOW_SIZE = 64 * 1024  # bytes
# A piece is at most this part of what the client was sent: it may turn out to be a slow one, and
# what waits for it is then four pieces, two of ours and what the kernel holds.
GROWTH = 16
PIECES = 8  # of a file that are kept for who comes a moment later


class Readable(Protocol):
    """A file that is open; for any number of threads."""

    def look(self) -> Look:
        """Raises: OSError."""

    def read(self, offset: int, size: int) -> bytes:
        """Raises: StoreError."""

    def send_to(self, connection: int, offset: int, size: int, may_wait: bool) -> int | None:
        """As `copy_out`."""

    def close(self) -> None:
        """Once."""


File = TypeVar("File", bound=Readable)


class Followed(Generic[File]):
    """For one event loop, and in its thread only. `readers` is counted by who hands it out."""

    def __init__(self, reading: File, threads: Threads, closed: Callable[[], object]) -> None:
        self.reading = reading
        self.look = Look(0, Stage.GROWING)
        self.readers = 0
        self.threads = threads
        self._closed = closed
        self._waiting: set[asyncio.Future[None]] = set()
        self._watch: asyncio.Task[None] | None = None
        self._pieces: OrderedDict[tuple[int, int], asyncio.Future[bytes]] = OrderedDict()

    async def beyond(self, offset: int) -> Look:
        """When there are bytes past `offset`, or no more will come."""
        while self.look.size <= offset and not self.look.is_over:
            if self._watch is None:
                self._watch = asyncio.ensure_future(self._watching())
            moved = asyncio.get_running_loop().create_future()
            self._waiting.add(moved)
            try:
                await moved
            finally:
                self._waiting.discard(moved)
        return self.look

    async def _watching(self) -> None:
        """For as long as anybody waits."""
        pause = SHORTEST_SECONDS
        try:
            while self._waiting and not self.look.is_over:
                look = await self.threads.run(self._look)
                pause = min(pause * 2, LONGEST_SECONDS)
                if look != self.look:
                    self.look = look
                    for moved in self._waiting:
                        if not moved.done():
                            moved.set_result(None)
                await asyncio.sleep(pause)
        finally:
            self._watch = None

    async def refresh(self) -> None:
        """For one who comes later: nobody may have looked for a while."""
        if not self.look.is_over:
            self.look = await self.threads.run(self._look)

    def _look(self) -> Look:
        try:
            return self.reading.look()
        except OSError:
            return Look(self.look.size, Stage.FAILED)

    async def read(self, offset: int, most: int = READ_SIZE) -> bytes:
        """What is there, as soon as something is; b"" at the end. Raises: StoreError."""
        look = await self.beyond(offset)
        if offset < look.size:
            # Cut at the same places for all, so that those who go side by side share the pieces.
            return await self._piece(offset, min(most - offset % most, look.size - offset))
        if not look.is_whole:
            raise StoreError(f"the build of this reply broke off after {look.size} bytes")
        return b""

    async def _piece(self, offset: int, size: int) -> bytes:
        """Raises: StoreError."""
        key = offset, size
        piece = self._pieces.get(key)
        if piece is None:
            piece = self._pieces[key] = self.threads.run(self.reading.read, offset, size)
            piece.add_done_callback(forget)
            if len(self._pieces) > PIECES:
                self._pieces.popitem(last=False)
        return await asyncio.shield(piece)

    async def send_to(self, connection: int, offset: int, size: int) -> int:
        """What is there. The number of bytes. Raises: as `copy_out`."""
        count = self.reading.send_to(connection, offset, size, False)
        if count is None:
            count = await self.threads.run(self._wait_and_send, os.dup(connection), offset, size)
            assert count is not None
        return count

    def _wait_and_send(self, connection: int, offset: int, size: int) -> int | None:
        """In a thread, which may outlive the request: its descriptor is its own."""
        try:
            return self.reading.send_to(connection, offset, size, True)
        finally:
            os.close(connection)

    def is_end(self, offset: int) -> bool:
        return self.look.is_whole and offset == self.look.size

    def release(self) -> None:
        """By each who was handed it."""
        self.readers -= 1
        if not self.readers:
            self.reading.close()
            self._closed()


@dataclass(frozen=True, slots=True)
class Following:
    """One request; the first bytes are there. It wants the bytes from `start` to before `end`
    (None: all), after `head`.
    """

    file: Followed[Any]
    headers: Headers
    start: int = 0
    end: int | None = None
    head: bytes = b""

    async def read(self, position: int, most: int = READ_SIZE) -> bytes:
        """As `Followed.read`; `position` is in the reply. Raises: StoreError."""
        offset = self._offset(position)
        if self.end is not None and offset >= self.end:
            return b"" if position else self.head
        if not position and self.head:
            most = SLOW_SIZE  # what is behind a head is a copy of one reader's own
        data = await self.file.read(offset, most)
        if self.end is not None:
            data = data[: self.end - offset]
        return data if position else self.head + data

    def is_end(self, position: int) -> bool:
        offset = self._offset(position)
        return self.file.is_end(offset) if self.end is None else offset >= self.end

    @property
    def length(self) -> int | None:
        """Bytes of the reply; None as long as that isn't known."""
        value = dict(self.headers).get(b"content-length")
        return None if value is None else int(value)

    def _offset(self, position: int) -> int:
        return self.start + max(position - len(self.head), 0)


async def send_file(
    send: Send,
    body: RequestBody,
    following: Following,
    status: int,
    headers: Headers,
    idle_seconds: float,
    sent: Sent,
) -> None:
    """As `send_stream`."""
    gone = body.gone
    pending: asyncio.Future[bytes] = asyncio.ensure_future(following.read(0, SLOW_SIZE))
    try:
        all_headers = [*headers, *following.headers]
        await send({"type": "http.response.start", "status": status, "headers": all_headers})
        is_slow = False
        while True:
            if not pending.done():
                await asyncio.wait((pending, gone), return_when=asyncio.FIRST_COMPLETED)
            if not pending.done():
                sent.is_gone = True
                return
            data = pending.result()
            if not data:
                break
            offset = sent.bytes + len(data)
            is_last = following.is_end(offset)
            if not is_last and not is_slow:
                ahead = following.read(offset, piece_size(offset))
                pending = asyncio.ensure_future(ahead)  # one piece ahead
            begun = time.monotonic()
            async with asyncio.timeout(idle_seconds):
                await send({"type": "http.response.body", "body": data, "more_body": True})
            sent.bytes = offset
            if is_last:
                break
            if gone.done():
                sent.is_gone = True
                return
            if is_slow:
                pending = asyncio.ensure_future(following.read(offset, SLOW_SIZE))
            is_slow = len(data) < SLOW_RATE * (time.monotonic() - begun)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    except (TimeoutError, ClientGone):
        sent.is_gone = True
    except Exception as failure:
        sent.failure = failure
    finally:
        pending.cancel()
        pending.add_done_callback(forget)
        following.file.release()


def piece_size(sent: int) -> int:
    """A power of two, so that those who go side by side still share the pieces."""
    part = max(sent // GROWTH, SLOW_SIZE)
    return min(1 << part.bit_length() - 1, READ_SIZE)


def forget(pending: asyncio.Future[bytes]) -> None:
    """What nobody waits for may have failed, too."""
    if not pending.cancelled():
        pending.exception()
