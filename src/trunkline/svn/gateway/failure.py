"""What a commit's `MERGE` is told when an earlier request of it failed upstream.

The client has had a good answer to that request; all it can still be told comes with the MERGE, so
the words name the path, and the code is the one that the client would have made of the answer.

Source: subversion 1.14, libsvn_ra_serf/util.c and commit.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from trunkline.svn.dav.xml_out import escape
from trunkline.svn.gateway.exchange import Exchange
from trunkline.svn.gateway.message import response

XML = (b"Content-Type", b'text/xml; charset="utf-8"')
ALREADY_EXISTS = 160020
REQUEST_FAILED = 175002

# Of an answer without an error that svn knows, by method and status, or by status alone.
BARE: dict[bytes | int, tuple[int, str]] = {
    b"MKCOL 405": (ALREADY_EXISTS, "Path '{}' already exists"),
    b"COPY 412": (ALREADY_EXISTS, "Path '{}' already exists"),
    401: (170001, "No more credentials or we tried too many times: '{}'"),
    403: (175013, "Access to '{}' forbidden"),
    404: (160013, "'{}' path not found"),
    405: (175015, "The HTTP method is not allowed on '{}'"),
    409: (160024, "'{}' conflicts"),
    412: (175014, "Precondition on '{}' failed"),
    423: (160038, "'{}': no lock token available"),
    501: (200007, "The requested feature is not supported by '{}'"),
}
DAV_ERROR = re.compile(rb"<(?:\w+:)?error[ >]")
STATUS = re.compile(rb"<(?:\w+:)?status>\s*HTTP/1\.[01] (\d{3})")
DESCRIPTION = re.compile(rb"<(?:\w+:)?responsedescription>\s*(.*?)\s*</", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Failure:
    """`body` is XML."""

    status: int
    body: bytes

    def format(self) -> bytes:
        return response(self.status, [XML], self.body)


def explain(status: int, code: int, text: bytes) -> Failure:
    body = (
        b'<?xml version="1.0" encoding="utf-8"?>\n'
        b'<D:error xmlns:D="DAV:" xmlns:m="http://apache.org/dav/xmlns" xmlns:C="svn:">\n'
        b"<C:error/>\n"
        b'<m:human-readable errcode="%d">\n%s\n</m:human-readable>\n</D:error>\n'
    )
    return Failure(status, body % (code, text))


def lost(text: str) -> Failure:
    return explain(502, REQUEST_FAILED, escape(text.encode()))


def find_failure(exchange: Exchange, path: bytes, expected: int) -> Failure | None:
    """None: it went well. `path` is in the repository."""
    if exchange.lost is not None:
        return lost(exchange.lost.text)
    assert exchange.head is not None
    status, body = exchange.head.status, exchange.body()
    if status == expected:
        return find_within(body, path) if status == 207 else None
    if status == 204 and exchange.request.method == b"PUT":  # made anew, as the client thought
        return explain(405, ALREADY_EXISTS, escape(b"File '%s' already exists" % shown(path)))
    if is_explained(body):
        return Failure(status if status >= 400 else 500, body)
    return bare(exchange.request.method, status, path)


def is_explained(body: bytes) -> bool:
    """It is an error that `svn` reads."""
    return DAV_ERROR.search(body) is not None and b"errcode" in body


def find_within(body: bytes, path: bytes) -> Failure | None:
    """A property's own status."""
    bad = [int(one) for one in STATUS.findall(body) if not one.startswith(b"2")]
    if not bad:
        return None
    said = DESCRIPTION.search(body)
    if said is None:
        return bare(b"PROPPATCH", bad[0], path)
    return explain(bad[0], REQUEST_FAILED, said.group(1))


def bare(method: bytes, status: int, path: bytes) -> Failure:
    code, words = BARE.get(b"%s %d" % (method, status)) or BARE.get(status) or (0, "")
    if not code:
        code, words = REQUEST_FAILED, f"Unexpected HTTP status {status} on '{{}}'"
    text = words.encode().replace(b"{}", shown(path))
    return explain(status if status >= 400 else 500, code, escape(text))


def shown(path: bytes) -> bytes:
    return unquote(path).encode()
