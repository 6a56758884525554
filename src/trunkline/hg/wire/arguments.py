"""Arguments of a command: from the query, from `X-HgArg-<N>` headers, or from the body.

Wire:   application/x-www-form-urlencoded in all three places; a header value is cut into
        `X-HgArg-1`, `-2`, ... at any byte. Bytes stay bytes: no character set is assumed.
Source: hg 7.2.4, helptext/internals/wireprotocol.txt and wireprotoserver.py (_args, getargs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.errors import PeerError
from trunkline.hg.wire.request import POST_ARGUMENTS_HEADER, Request, post_arguments_length
from trunkline.quoting import unquote

QUERY_LIMIT = 64 * 1024  # bytes
HEADER_ARGUMENTS_LIMIT = 1024 * 1024  # bytes of all X-HgArg headers together
ARGUMENT_COUNT_LIMIT = 1000  # name=value pairs in one place
STAR = b"*"

Pairs = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a command declared by name, and under `others` what its "*" takes."""

    named: Mapping[bytes, bytes]
    others: Mapping[bytes, bytes]

    def __getitem__(self, name: bytes) -> bytes:
        return self.named[name]


def parse_pairs(text: bytes) -> Pairs:
    """name=value pairs in their order; a name without "=" has the value b"".

    Raises: PeerError past ARGUMENT_COUNT_LIMIT.
    """
    if not text:
        return []
    fields = text.split(b"&", ARGUMENT_COUNT_LIMIT)
    if len(fields) > ARGUMENT_COUNT_LIMIT:
        raise PeerError(f"more than {ARGUMENT_COUNT_LIMIT} arguments")
    pairs: Pairs = []
    for field in fields:
        if field:
            name, _, value = field.partition(b"=")
            pairs.append((unquote_form(name), unquote_form(value)))
    return pairs


def unquote_form(text: bytes) -> bytes:
    """As `unquote`, and "+" is a space."""
    return unquote(text.replace(b"+", b" ") if b"+" in text else text)


def parse_query(query: bytes) -> Pairs:
    if len(query) > QUERY_LIMIT:
        raise PeerError(f"query of more than {QUERY_LIMIT} bytes", status=414)
    return parse_pairs(query)


def command_name(pairs: Pairs) -> bytes | None:
    """The last `cmd`, as stock; None when the request isn't of this protocol."""
    for name, value in reversed(pairs):
        if name == b"cmd":
            return value
    return None


def numbered_header(headers: Mapping[bytes, bytes], prefix: bytes) -> bytes:
    """Join `<prefix>-1`, `<prefix>-2`, ... up to the first that is missing."""
    first = headers.get(prefix + b"-1")
    if first is None:
        return b""
    values = [first]
    while (value := headers.get(b"%s-%d" % (prefix, len(values) + 1))) is not None:
        values.append(value)
    return b"".join(values)


def sent_arguments(request: Request, query: Pairs) -> dict[bytes, bytes]:
    """All arguments by name: headers or body win over the query, the first of a name wins.

    Raises: PeerError.
    """
    if POST_ARGUMENTS_HEADER in request.headers:
        length = post_arguments_length(request.headers)
        if len(request.body) != length:
            raise PeerError(
                f"X-HgArgs-Post: {length} bytes announced, {len(request.body)} received"
            )
        text = request.body
    else:
        text = numbered_header(request.headers, b"x-hgarg")
        if len(text) > HEADER_ARGUMENTS_LIMIT:
            raise PeerError(
                f"more than {HEADER_ARGUMENTS_LIMIT} bytes in X-HgArg headers", status=431
            )
    return first_of_name(query) | first_of_name(parse_pairs(text))


def first_of_name(pairs: Pairs) -> dict[bytes, bytes]:
    return dict(reversed(pairs))


def bind(command: bytes, spec: tuple[bytes, ...], sent: Mapping[bytes, bytes]) -> Arguments:
    """Sort what was sent by what the command declares. Raises: PeerError for a missing one."""
    named: dict[bytes, bytes] = {}
    for name in spec:
        if name == STAR:
            continue
        value = sent.get(name)
        if value is None:
            raise PeerError(f"{command.decode()}: argument {name.decode()!r} is missing")
        named[name] = value
    others: dict[bytes, bytes] = {}
    if STAR in spec:
        others = {
            name: value for name, value in sent.items() if name not in named and name != b"cmd"
        }
    return Arguments(named, others)
