"""Clone bundles of our own making: the lines of a manifest, and the files themselves.

A client that knows the inline form gets that: it comes by the very way that the client is on, so
no proxy, no name and no password can be wrong. Others get a URL of the repository's own, so that
who may not read the repository gets no bundle either.
Source: hg 7.2.4, exchange.py (_maybeapplyclonebundle) for what a client does with a manifest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from trunkline.errors import PeerError
from trunkline.hg.bundle.bundle_file import KINDS
from trunkline.hg.bundle.stream import offers_stream_parts
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.byte_range import content_range, what_is_asked
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import File
from trunkline.hg.wire.shelf import Bundle, Edition, Shelf
from trunkline.reply import Bytes, Span

COMMAND: Final = b"trunkline_bundle"  # gives a file
INLINE: Final = b"peer-bundle-cache://trunkline/"
CONTENT_TYPE: Final = b"application/octet-stream"


class Found(NamedTuple):
    path: str
    size: int


def own_lines(exchange: Exchange, takes_inline: bool) -> list[bytes]:
    """In the order in which a client should choose; none at all where it may find only a stream,
    which not every client can use. Raises: StoreError.
    """
    shelf, snapshot = exchange.served.shelf, exchange.native
    if shelf is None or snapshot is None:
        return []
    for edition in shelf.sound(exchange.served.root, snapshot):
        found = list(edition_lines(exchange, shelf, edition, takes_inline))
        if any(not KINDS[bundle.kind].is_stream for bundle, _ in found):
            return [line for _, line in found]
    return []


def edition_lines(
    exchange: Exchange, shelf: Shelf, edition: Edition, takes_inline: bool
) -> Iterator[tuple[Bundle, bytes]]:
    """Of those that can be read at this moment."""
    by_kind = {bundle.kind: bundle for bundle in edition.bundles}
    for name, kind in KINDS.items():
        bundle = by_kind.get(name)
        if bundle is None or (kind.is_stream and not offers_stream_parts(exchange.config)):
            continue
        words = place_of(exchange, shelf, bundle, takes_inline)
        if words is not None:
            url, *others = words
            spec = b"BUNDLESPEC=" + bundle.spec.encode()
            yield bundle, b" ".join((url, spec, *others)) + b"\n"


def place_of(
    exchange: Exchange, shelf: Shelf, bundle: Bundle, takes_inline: bool
) -> list[bytes] | None:
    """Its URL, and what a client should know of that place. None: it can't be had."""
    address = shelf.address(bundle)
    if address is not None:
        words = [address.encode()]
        if bundle.sha256:
            words.append(b"DIGEST=sha256:" + bundle.sha256.encode())
        if address.startswith("https:"):
            words.append(b"REQUIRESNI=true")
        return words
    if not shelf.is_readable(bundle):
        return None
    if takes_inline:
        return [INLINE + bundle.name.encode()]
    url = exchange.request.url
    if not url:
        return None
    return [b"%s?cmd=%s&name=%s" % (url.encode("ascii"), COMMAND, bundle.name.encode())]


def find_own(exchange: Exchange, name: bytes) -> Found | None:
    """A bundle that may be given out; None for any other name. Raises: StoreError."""
    shelf, snapshot = exchange.served.shelf, exchange.native
    if shelf is None or snapshot is None:
        return None
    bundle = shelf.find(exchange.served.root, snapshot, name.decode("latin-1"))
    return None if bundle is None else Found(shelf.path(bundle), bundle.size)


def bundle_reply(exchange: Exchange, arguments: Arguments) -> File:
    """The file, or the part of it that is asked for. Raises: PeerError 404."""
    name = arguments[b"name"]
    found = find_own(exchange, name)
    if found is None:
        raise PeerError("no such bundle", status=404)
    request, etag = exchange.request, b'"%s"' % name
    asked = what_is_asked(request.method, request.headers, etag, found.size)
    headers = [(b"etag", etag), (b"accept-ranges", b"bytes")]
    if asked.status in (206, 416):
        headers.append((b"content-range", content_range(asked, found.size)))
    if asked.status == 304:
        return File(Span(found.path, 0, found.size), asked.status, headers)
    if asked.status not in (200, 206):
        return File(Bytes(b""), asked.status, headers)
    headers += [
        (b"content-type", CONTENT_TYPE),
        # A proxy that packs it, or answers for it after we would have refused it, does harm.
        (b"cache-control", b"private, no-transform"),
        (b"content-disposition", b'attachment; filename="%s.hg"' % name),
    ]
    return File(Span(found.path, asked.offset, asked.length), asked.status, headers)
