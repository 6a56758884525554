"""The body of a request: arguments first, then what is left, for a thread to take or to throw away.

Source of the order: hg 7.2.4, httppeer.py (makev1commandrequest): X-HgArgs-Post bytes of
arguments, then the payload.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from typing import Any

from trunkline.errors import PeerError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LONGEST_LENGTH = 19  # digits: past any limit with more


class ClientGone(PeerError):
    """The client went away in the middle of its request, so nobody reads an answer."""


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
    """Never more in memory than one message of the HTTP library and what was asked for."""

    def __init__(self, receive: Receive, idle_seconds: float) -> None:
        self._receive = receive
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._held = b""
        self.is_complete = False  # all of it has arrived
        self.is_gone = False
        self.is_begun = False  # the client was told to go on, if it waited for that

    async def read(self, size: int) -> bytes:
        """Exactly `size` bytes. Raises: PeerError 400 when there are fewer."""
        parts: list[bytes] = []
        missing = size
        while missing:
            data = await self._some()
            if not data:
                raise PeerError(
                    f"X-HgArgs-Post: {size} bytes announced, the body has {size - missing}"
                )
            parts.append(data[:missing])
            self._held = data[missing:]
            missing -= len(parts[-1])
        return b"".join(parts)

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

        Raises: ClientGone; PeerError 413 past `limit` bytes, 408 when nothing comes.
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
        try:
            async with asyncio.timeout(self._idle_seconds):
                message = await self._receive()
        except TimeoutError:
            self.is_gone = True
            raise PeerError(
                f"nothing of the request's body for {self._idle_seconds:g} seconds", status=408
            ) from None
        if message["type"] != "http.request":
            self.is_gone = True
            raise ClientGone("the client went away")
        return message

    async def wait_gone(self) -> None:
        """Until the client is gone. Only when the body is read to its end, or not wanted."""
        while (await self._receive())["type"] != "http.disconnect":
            self.is_complete = True
        self.is_gone = True
