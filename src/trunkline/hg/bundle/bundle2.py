"""The bundle2 container `HG20`: parts in, bytes out.

Wire:   "HG20", int32 length of the stream parameters and the parameters, parts, int32 0.
        A part: int32 header length, header, payload chunks (int32 length, bytes), int32 0.
        Chunk length -1 interrupts the payload: one whole part follows, then the payload goes on.
Source: hg 7.2.4, helptext/internals/bundle2.txt and the docstring of mercurial/bundle2.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from struct import Struct
from urllib.parse import quote_from_bytes

from trunkline.errors import PeerError, TrunklineError
from trunkline.quoting import unquote

MAGIC = b"HG20"
INT32 = Struct(">i")
END = INT32.pack(0)
INTERRUPT = INT32.pack(-1)
LIMIT = 255  # bytes of a part's type, of a parameter's name and of its value: one length byte each
CHUNK = 1024 * 1024  # bytes of payload in one chunk at most: docs/notes/small-reads.md
BROKEN = b"the server could not go on reading the repository"

Parameters = tuple[tuple[bytes, bytes], ...]
Capabilities = dict[bytes, tuple[bytes, ...]]


@dataclass(frozen=True, slots=True)
class Part:
    """One part; `payload` is pulled once, while the part is being sent.

    `is_mandatory` parts, and parts with a `mandatory` parameter, stop a client that doesn't know
    the type or the name.
    """

    type: bytes
    mandatory: Parameters = ()
    advisory: Parameters = ()
    payload: Iterable[bytes] = ()
    is_mandatory: bool = True


def write_bundle(parts: Iterable[Part], parameters: Mapping[bytes, bytes] = {}) -> Iterator[bytes]:
    """The whole container. Parts are taken one after the other, each when the one before is out.

    Blocks follow the payloads' own, with small ones between them.
    A failure is first told to the client as an `error:abort` part (which interrupts the payload
    that it happened in) and then raised, so that the connection breaks too.
    """
    blob = format_stream_parameters(parameters)
    held, is_inside = MAGIC + INT32.pack(len(blob)) + blob, False
    try:
        for number, part in enumerate(parts):
            held += format_header(part, number)
            is_inside = True
            for chunk in _chunks(part.payload):
                yield held + INT32.pack(len(chunk))
                yield chunk  # by itself: joined to its length, it would be copied
                held = b""
            is_inside = False
            held += END
    except Exception as failure:
        yield held + (INTERRUPT if is_inside else b"") + tell(failure) + END
        raise
    yield held + END


def abort_bundle(failure: PeerError, hint: bytes | None = None) -> bytes:
    """A whole bundle that says only why there is none; the client shows it as "remote: abort"."""
    part = abort_part(failure.text.encode("utf-8", "surrogateescape"), hint)
    return b"".join((MAGIC, END, format_header(part, 0), END, END))


def abort_part(message: bytes, hint: bytes | None = None, is_mandatory: bool = True) -> Part:
    advisory = () if hint is None else ((b"hint", _cut(hint)),)
    return Part(b"error:abort", ((b"message", _cut(message)),), advisory, (), is_mandatory)


def tell(failure: Exception) -> bytes:
    """A whole part that names the failure: a peer's own fault in full, the rest is for the log."""
    text = BROKEN
    if isinstance(failure, PeerError):
        text = failure.text.encode("utf-8", "surrogateescape")
    return format_header(abort_part(text, is_mandatory=False), 0) + END


def format_header(part: Part, number: int) -> bytes:
    """The part's header with its length in front.

    Wire: type length (1 byte), type, int32 number, counts of mandatory and advisory parameters
          (1 byte each), name and value lengths (1 byte each, in pairs), names and values.
    """
    kind = part.type.upper() if part.is_mandatory else part.type.lower()
    words = [word for pair in (*part.mandatory, *part.advisory) for word in pair]
    for word in (kind, *words):
        if len(word) > LIMIT:
            raise TrunklineError(f"bundle2: {len(word)} bytes in a part header, at most {LIMIT}")
    header = b"".join(
        (
            bytes((len(kind),)),
            kind,
            INT32.pack(number),
            bytes((len(part.mandatory), len(part.advisory))),
            bytes(map(len, words)),
            *words,
        )
    )
    return INT32.pack(len(header)) + header


def format_stream_parameters(parameters: Mapping[bytes, bytes]) -> bytes:
    return b" ".join(_quote(name) + b"=" + _quote(text) for name, text in parameters.items())


def parse_capabilities(blob: bytes) -> Capabilities:
    """`name=value,value` lines, each word URL-quoted; a name alone has no values."""
    capabilities: Capabilities = {}
    for line in blob.splitlines():
        name, has_values, values = line.partition(b"=")
        if name or has_values:
            words = values.split(b",") if has_values else []
            capabilities[unquote(name)] = tuple(map(unquote, words))
    return capabilities


def _cut(text: bytes) -> bytes:
    """What a parameter holds of it, no UTF-8 sequence torn."""
    if len(text) <= LIMIT:
        return text
    end = LIMIT
    while end > LIMIT - 4 and text[end] & 0xC0 == 0x80:
        end -= 1
    return text[:end]


def _quote(text: bytes) -> bytes:
    return quote_from_bytes(text).encode("ascii")


def _chunks(payload: Iterable[bytes]) -> Iterator[bytes]:
    """Cut to CHUNK; an empty block would read as the payload's end, so it is left out."""
    for block in payload:
        if len(block) <= CHUNK:
            if block:
                yield block
        else:
            view = memoryview(block)
            for start in range(0, len(block), CHUNK):
                yield bytes(view[start : start + CHUNK])
