"""The body of a request: arguments first, then what is left, for a thread to take or to throw away.

Source of the order: hg 7.2.4, httppeer.py (makev1commandrequest): X-HgArgs-Post bytes of
arguments, then the payload.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from typing import Any

from trunkline.errors import ClientGone, PeerError
from trunkline.http.limits import Held

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LONGEST_LENGTH = 19  # digits: past any limit with more

# Each piece, as the HTTP library hands it over, costs 50 us of CPU however small it is.
SMALL_PIECES = 4096  # of any size, before their size matters
PIECE_BYTES = 256  # bytes on average; a network's own pieces have 500 and more


def announced_length(headers: Mapping[bytes, bytes]) -> int | None:
    """Content-Length; None when the body is chunked. 0: there is no body.

    Raises: PeerError 400 when it is no number.
    """
    value = headers.get(b"content-length")
    if value is None:
        return None if b"transfer-encoding" in headers else 0
    if not value.isdigit():
        raise PeerError(f"Content-Length: not a number: {value[:40].decode('latin-1')!r}")
    if len(value) > LONGEST_LENGTH:
        raise PeerError("Content-Length: longer than any limit", status=413)
    return int(value)


class RequestBody:
    """Never more in memory than one message of the HTTP library and what was asked for.

    `idle_seconds`: how long nothing of it may come; of arguments, `read` is told. `slowest`: bytes
    per second of waiting that must come on average, besides that.
    """

    def __init__(self, receive: Receive, idle_seconds: float, slowest: int) -> None:
        self._receive = receive
        self._idle_seconds = idle_seconds
        self._slowest = slowest
        self._waited = 0.0  # seconds; what we do with the bytes doesn't count
        self._gone: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._held = b""
        self._pieces, self._size = 0, 0
        self.is_complete = False  # all of it has arrived
        self.is_gone = False
        self.is_cut = False  # it ended before it was complete
        self.is_begun = False  # the client was told to go on, if it waited for that

    async def read(self, size: int, held: Held, idle_seconds: float, seconds: float) -> bytes:
        """Exactly `size` bytes, counted in `held` as they come; all of them within `seconds`.

        Raises: PeerError 400 when there are fewer, 408 when they come too slowly, 503 when
        `held` takes no more; ClientGone.
        """
        found = bytearray()
        self._idle_seconds, usual = idle_seconds, self._idle_seconds
        try:
            async with asyncio.timeout(seconds if size else None):
                while missing := size - len(found):
                    data = await self._some()
                    if not data:
                        raise PeerError(
                            f"X-HgArgs-Post: {size} bytes announced, the body has {len(found)}"
                        )
                    self._held = data[missing:]
                    data = data[:missing]
                    held.add(len(data))
                    found += data
        except TimeoutError:
            raise self._too_slow(f"{size} bytes of arguments took", seconds) from None
        finally:
            self._idle_seconds = usual
        return bytes(found)

    async def begin(self, size: int) -> bytes:
        """About the first `size` bytes, or the whole if it is shorter (`is_complete`)."""
        parts: list[bytes] = []
        while size > 0:
            data = await self._some()
            if not data:
                break
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    async def drain(self, limit: int) -> bool:
        """Throw the rest away. False: it is longer than `limit`, and wasn't read to its end."""
        while data := await self._some():
            limit -= len(data)
            if limit < 0:
                return False
        return True

    def blocks(self, limit: int) -> Iterator[bytes]:
        """The rest, for a thread other than the event loop's, one message at a time.

        Raises: ClientGone; PeerError 413 past `limit` bytes, 408 when too little comes.
        """
        while True:
            data = asyncio.run_coroutine_threadsafe(self._some(), self._loop).result()
            if not data:
                return
            limit -= len(data)
            if limit < 0:
                raise PeerError("the bundle is longer than this server takes", status=413)
            yield data

    async def _some(self) -> bytes:
        """What comes next; b"" at the end."""
        if self._held:
            data, self._held = self._held, b""
            return data
        while not self.is_complete:
            message = await self._message()
            self.is_complete = not message.get("more_body", False)
            if data := message.get("body", b""):
                return bytes(data)
        return b""

    async def _message(self) -> Message:
        self.is_begun = True
        left = self._idle_seconds + self._size / self._slowest - self._waited
        start = self._loop.time()
        try:
            async with asyncio.timeout(max(0.0, min(left, self._idle_seconds))):
                message = await self._receive()
        except TimeoutError:
            if left < self._idle_seconds:
                what = f"less than {self._slowest} bytes of the request's body per second for"
                raise self._too_slow(what, self._waited + left) from None
            raise self._too_slow("nothing of the request's body for", self._idle_seconds) from None
        self._waited += self._loop.time() - start
        if message["type"] != "http.request":
            self.is_gone = self.is_cut = True
            raise ClientGone("the client went away")
        self._pieces += 1
        self._size += len(message.get("body", b""))
        if self._pieces > SMALL_PIECES and self._size < self._pieces * PIECE_BYTES:
            self.is_gone = True  # the rest isn't worth the reading
            raise PeerError(f"a body in pieces of less than {PIECE_BYTES} bytes")
        return message

    def _too_slow(self, what: str, seconds: float) -> PeerError:
        self.is_gone = True
        return PeerError(f"{what} {seconds:.4g} seconds", status=408)

    @property
    def gone(self) -> asyncio.Task[None]:
        """Done once the client is gone. Only when the body is read to its end, or not wanted;
        `close` must follow.
        """
        if self._gone is None:
            self._gone = self._loop.create_task(self._wait_gone())
        return self._gone

    def close(self) -> None:
        if self._gone is not None:
            self._gone.cancel()

    async def _wait_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            self.is_complete = True
        self.is_gone = True
