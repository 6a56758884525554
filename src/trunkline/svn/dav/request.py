"""One HTTP request to a repository, and what it is answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trunkline.reply import Body, Bytes

EMPTY = Bytes(b"")


@dataclass(frozen=True, slots=True)
class Request:
    """`base` is the URL path of the repository, as the client wrote it, without a slash at its
    end; `raw_path` is what follows, percent-encoded. `user` is who is logged in; None is nobody.
    """

    method: str
    base: bytes
    raw_path: bytes
    query: bytes = b""
    headers: Mapping[bytes, bytes] = field(default_factory=dict)  # names in lower case
    blocks: Iterable[bytes] = ()
    user: bytes | None = None
    may_write: bool = False
    scheme: str = "http"

    def header(self, name: bytes) -> bytes:
        return self.headers.get(name, b"")

    @property
    def options(self) -> frozenset[bytes]:
        """Words of `X-SVN-Options`."""
        return frozenset(self.header(b"x-svn-options").split())

    @property
    def is_svn(self) -> bool:
        """Whether a Subversion client asks: a few answers are theirs only."""
        return self.header(b"user-agent").startswith(b"SVN/")


@dataclass(frozen=True, slots=True)
class Answer:
    """A `Bytes` body has no Content-Length among `headers`."""

    status: int
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: Body = EMPTY
