"""Before anything is timed: both servers' replies hold the same bytes.

Wire:   a 0.2 reply's engine name (length byte first), then a bundle2 stream. How a payload is cut
        into chunks is each server's own choice, so the chunks are put together before comparing.
Source: hg 7.2.4, helptext/internals/{bundle2,wireprotocol}.txt.
"""

from __future__ import annotations

import struct
from hashlib import sha256

from benchmarks import process
from benchmarks.cases import NULL, Repository, engine
from benchmarks.reader import Connection, getbundle

Parts = dict[str, str]


def read_parts(body: bytes) -> Parts:
    """Part type -> digest of its whole payload."""
    at = 1 + body[0]
    assert body[at : at + 4] == b"HG20"
    at += 8 + struct.unpack_from(">i", body, at + 4)[0]
    parts: Parts = {}
    while True:
        (size,) = struct.unpack_from(">i", body, at)
        at += 4
        if not size:
            return parts
        kind = body[at + 1 : at + 1 + body[at]].decode().lower()
        at += size
        digest = sha256()
        while True:
            (length,) = struct.unpack_from(">i", body, at)
            at += 4
            if not length:
                break
            digest.update(memoryview(body)[at : at + length])
            at += length
        parts[kind] = digest.hexdigest()


def ask(peer: str, repository: Repository) -> Parts:
    server = process.start(peer, repository.path, engine("none"))
    try:
        connection = Connection(server.port)
        headers = getbundle(repository.heads, [NULL])
        parts = read_parts(connection.get("/?cmd=getbundle", headers, keep=True).body)
        connection.close()
    finally:
        server.stop()
    return parts


def check(repository: Repository) -> None:
    """Raises: AssertionError, naming what differs."""
    stock, ours = ask("stock", repository), ask("trunkline", repository)
    differing = [kind for kind in {*stock, *ours} if stock.get(kind) != ours.get(kind)]
    assert not differing, f"the servers' replies differ in {', '.join(sorted(differing))}"
