"""What a request brings besides its head: arguments in the body, and perhaps a bundle."""

from __future__ import annotations

from trunkline.config.limits import Limits
from trunkline.errors import PeerError
from trunkline.hg.wire.request import post_arguments_length
from trunkline.http.body import RequestBody, announced_length
from trunkline.http.limits import Held
from trunkline.http.visit import Visit


async def read_arguments(visit: Visit, body: RequestBody, limits: Limits, held: Held) -> bytes:
    """The arguments of a command that takes no payload; any other body is thrown away.

    Raises: PeerError 400, 413; ClientGone.
    """
    announced = announced_length(visit.headers)
    if announced == 0:
        if post_arguments_length(visit.headers):
            raise PeerError("X-HgArgs-Post: there is no body to read them from")
        return b""
    arguments = await read_post_arguments(visit, body, announced, limits, held)
    left = None if announced is None else announced - len(arguments)
    if (left or 0) > limits.other_body_bytes or not await body.drain(limits.other_body_bytes):
        raise PeerError(
            f"a body of more than {limits.other_body_bytes} bytes, which nobody asked for",
            status=413,
        )
    return arguments


async def read_message(visit: Visit, body: RequestBody, limits: Limits, held: Held) -> bytes:
    """A body that is one text, as a whole. Raises: PeerError 411, 413; ClientGone."""
    announced = announced_length(visit.headers)
    if announced is None:
        raise PeerError("a Content-Length is needed", status=411)
    if announced > limits.lfs_batch_bytes:
        raise PeerError(f"a body of more than {limits.lfs_batch_bytes} bytes", status=413)
    return await body.read(announced, held, limits.post_args_idle_seconds, limits.post_args_seconds)


async def read_push_arguments(visit: Visit, body: RequestBody, limits: Limits, held: Held) -> bytes:
    """The arguments before a payload, which stays unread.

    Raises: PeerError 400, 411, 413; ClientGone.
    """
    announced = announced_length(visit.headers)
    if announced == 0 and b"content-length" not in visit.headers:
        raise PeerError("a push needs a Content-Length", status=411)
    if announced is not None and announced > limits.push_bytes + limits.post_args_bytes:
        raise PeerError(f"a bundle of more than {limits.push_bytes} bytes", status=413)
    return await read_post_arguments(visit, body, announced, limits, held)


async def read_post_arguments(
    visit: Visit, body: RequestBody, announced: int | None, limits: Limits, held: Held
) -> bytes:
    length = post_arguments_length(visit.headers)
    if length > limits.post_args_bytes:
        raise PeerError(f"X-HgArgs-Post: more than {limits.post_args_bytes} bytes", status=413)
    if announced is not None and length > announced:
        raise PeerError(f"X-HgArgs-Post: {length} bytes announced, the body has {announced}")
    return await body.read(length, held, limits.post_args_idle_seconds, limits.post_args_seconds)
