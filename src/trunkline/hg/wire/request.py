"""One HTTP request, as far as the protocol cares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from trunkline.errors import PeerError
from trunkline.work import Work

POST_ARGUMENTS_LIMIT = 16 * 1024 * 1024  # bytes; 400,000 nodes of a `known`
POST_ARGUMENTS_HEADER = b"x-hgargs-post"


@dataclass(frozen=True, slots=True)
class Request:
    """`body` is what `post_arguments_length` asks for, `payload` the rest of the body.

    `url`: the repository's own, as this client can reach it; "" where we can't tell it.
    `may_push` is the door's decision; `user`, `address` and `scheme` are for hooks and the log.
    `may_need_login`: a later request of this client may be told to log in. `is_near`: its link is
    fast. `work` tells long work when to stop.
    """

    method: str
    query: bytes = b""
    headers: Mapping[bytes, bytes] = field(default_factory=dict)  # names in lower case
    body: bytes = b""
    may_push: bool = False
    payload: Iterator[bytes] | None = None
    user: str | None = None
    address: str | None = None
    scheme: str = "http"
    url: str = ""
    may_need_login: bool = False
    is_near: bool = False
    work: Work = field(default_factory=Work)


def post_arguments_length(headers: Mapping[bytes, bytes]) -> int:
    """How many bytes at the start of the body are arguments, by `X-HgArgs-Post`.

    Raises: PeerError, 400 for no number and 413 past the limit.
    """
    value = headers.get(POST_ARGUMENTS_HEADER)
    if value is None:
        return 0
    if not value.isdigit():
        raise PeerError(f"X-HgArgs-Post: not a length: {value[:40].decode('latin-1')!r}")
    # Twenty digits are past any limit, and int() must not be made to work on a million of them.
    length = int(value) if len(value) < 20 else POST_ARGUMENTS_LIMIT + 1
    if length > POST_ARGUMENTS_LIMIT:
        raise PeerError(f"X-HgArgs-Post: more than {POST_ARGUMENTS_LIMIT} bytes", status=413)
    return length
