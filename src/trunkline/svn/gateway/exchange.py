"""A request to the upstream and the answer to it, as far as that has come."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from trunkline.errors import TrunklineError
from trunkline.svn.gateway.message import Head, Request

ANSWER_LIMIT = 1 << 20  # bytes of an answer that is looked at whole
HELD_LIMIT = 1 << 20  # bytes of an answer that its reader hasn't taken


class UpstreamLost(TrunklineError):
    """No answer will come: the connection was lost, or there was none to be had."""


class Exchange:
    """One reader. `on_done` is called once, after the end or the loss of the answer."""

    def __init__(self, request: Request, on_done: Callable[[Exchange], None] | None = None) -> None:
        self.request = request
        self.head: Head | None = None
        self.is_done = False
        self.is_dropped = False  # nobody wants it any more; it isn't sent
        self.repeats = 0
        self.can_wait = False  # for others, to go together
        self.lost: UpstreamLost | None = None
        self.on_read: Callable[[], None] = lambda: None
        self._on_done = on_done
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._waiter: asyncio.Future[None] | None = None

    @property
    def size(self) -> int:
        return self.request.body.size + 1024  # and a head

    @property
    def was_repeated(self) -> bool:
        return self.repeats > 0

    @property
    def is_answered(self) -> bool:
        """Its answer has begun."""
        return self.head is not None

    @property
    def is_full(self) -> bool:
        return self._held > HELD_LIMIT

    def begin_anew(self) -> bool:
        """Forget the answer so far. False: somebody has seen some of it."""
        if self.head is not None and self._on_done is None:
            return False
        self.head = None
        self._chunks.clear()
        self._held = 0
        return True

    # What the link calls.

    def feed_head(self, head: Head) -> None:
        self.head = head
        self._wake()

    def feed_data(self, data: bytes) -> None:
        if self._on_done is None or self._held + len(data) <= ANSWER_LIMIT:
            self._chunks.append(data)
            self._held += len(data)
            self._wake()

    def finish(self) -> None:
        self.is_done = True
        self.request.body.close()
        self._wake()
        if self._on_done is not None:
            self._on_done(self)

    def fail(self, why: UpstreamLost) -> None:
        if not self.is_done:
            self.lost = why
            self.finish()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What the reader calls.

    async def wait_head(self) -> Head:
        """Raises: UpstreamLost."""
        while self.head is None:
            if self.lost is not None:
                raise self.lost
            await self._wait()
        return self.head

    async def read(self) -> bytes:
        """The next piece; b"" after the last. Raises: UpstreamLost."""
        while not self._chunks:
            if self.lost is not None:
                raise self.lost
            if self.is_done:
                return b""
            await self._wait()
        data = self._chunks.popleft()
        self._held -= len(data)
        self.on_read()
        return data

    async def whole(self) -> bytes:
        """Up to ANSWER_LIMIT of it. Raises: UpstreamLost."""
        await self.wait_head()
        parts, size = [], 0
        while data := await self.read():
            size += len(data)
            if size <= ANSWER_LIMIT:
                parts.append(data)
        return b"".join(parts)

    def body(self) -> bytes:
        """Of one that is done."""
        return b"".join(self._chunks)

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
