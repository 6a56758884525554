"""What the client says it can take: `X-HgProto-<N>`.

Wire:   space-separated tokens: media types `0.1`, `0.2`; `comp=zstd,zlib,none`; `partial-pull`.
Source: hg 7.2.4, helptext/internals/wireprotocol.txt and wireprotov1server.py
        (clientcompressionsupport).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from trunkline.errors import PeerError
from trunkline.hg.wire.arguments import numbered_header

PROTO_LIMIT = 8 * 1024  # bytes
IMPLIED_ENGINES = (b"zlib", b"none")  # of a client that takes 0.2 and names no engine


@dataclass(frozen=True, slots=True)
class ClientProtocol:
    takes_0_2: bool
    announced_engines: tuple[bytes, ...] | None  # wire names; None: it sent no comp=
    takes_partial_pull: bool

    @property
    def engines(self) -> tuple[bytes, ...]:
        return IMPLIED_ENGINES if self.announced_engines is None else self.announced_engines


def client_protocol(headers: Mapping[bytes, bytes]) -> ClientProtocol:
    """Raises: PeerError past PROTO_LIMIT."""
    value = numbered_header(headers, b"x-hgproto")
    if len(value) > PROTO_LIMIT:
        raise PeerError(f"more than {PROTO_LIMIT} bytes in X-HgProto headers", status=431)
    return parse_protocol(value)


@lru_cache(maxsize=64)
def parse_protocol(value: bytes) -> ClientProtocol:
    tokens = value.split(b" ")
    engines = None
    for token in tokens:
        if token.startswith(b"comp="):
            engines = tuple(token[5:].split(b","))
            break
    return ClientProtocol(b"0.2" in tokens, engines, b"partial-pull" in tokens)
