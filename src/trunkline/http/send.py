"""Sends a reply value over ASGI, with back-pressure; a body that fails breaks the connection.

A slow reader holds a socket and two pieces of the body, never a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.errors import ClientGone
from trunkline.http.blocks import Piece, Pieces
from trunkline.http.body import RequestBody, Send
from trunkline.http.threads import Lane

Headers = Sequence[tuple[bytes, bytes]]


class BrokenReply(Exception):
    """Raised into the HTTP library, so that it ends the connection before the last chunk."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A stream whose first piece is there already, so what fails at once still has an answer."""

    pieces: Pieces
    first: Piece


@dataclass(slots=True)
class Sent:
    """What became of it. `failure` is of the body's maker; `is_gone` the client's doing."""

    bytes: int = 0
    is_gone: bool = False
    failure: BaseException | None = None


async def send_whole(send: Send, status: int, headers: Headers, data: bytes, is_head: bool) -> int:
    """With its length; the number of bytes of body that went out."""
    length = (b"content-length", b"%d" % len(data))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": b"" if is_head else data})
    return 0 if is_head else len(data)


async def send_stream(
    send: Send,
    body: RequestBody,
    lane: Lane,
    begun: Begun,
    status: int,
    headers: Headers,
    idle_seconds: float,
    sent: Sent,
) -> None:
    """Raises nothing of the maker's: `sent` tells, and the caller breaks the connection."""
    pieces = begun.pieces
    gone = body.gone
    gone.add_done_callback(pieces.leave)
    pending: asyncio.Future[Piece] | None = None
    piece = begun.first
    try:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        while True:
            if not piece.is_last:
                pending = lane.run(pieces.pull)  # one piece ahead
            if piece.data:
                async with asyncio.timeout(idle_seconds):
                    await send(
                        {"type": "http.response.body", "body": piece.data, "more_body": True}
                    )
                sent.bytes += len(piece.data)
            if gone.done():
                sent.is_gone = True
                return
            if pending is None:
                break
            piece = await pending
            pending = None
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    except (TimeoutError, ClientGone):
        sent.is_gone = True
    except Exception as failure:
        sent.failure = failure
    finally:
        pieces.leave()
        if pending is not None:
            with contextlib.suppress(Exception):
                await pending
        await lane.run(pieces.close)
