"""GET and HEAD of files and folders, of public URLs and of revisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs

from trunkline.errors import PeerError
from trunkline.reply import Bytes, Stream
from trunkline.svn.dav.dates import format_http, parse_iso
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import Bare
from trunkline.svn.dav.index import Html, Xml, index_blocks
from trunkline.svn.dav.names import SVNDIFF_TYPE
from trunkline.svn.dav.properties import etag
from trunkline.svn.dav.pushed import Output
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.svndiff import PlainWriter
from trunkline.svn.dav.url import Resource, quote, resource_of_url
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.authz import Right
from trunkline.svn.repository.delta import send_delta
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.history import located
from trunkline.svn.repository.nodes import Kind, Node, node_at, revision_props

RANGE = re.compile(rb"^bytes=(\d*)-(\d*)$")
WEEK = b"max-age=604800"

Headers = list[tuple[bytes, bytes]]


def get(exchange: Exchange) -> Answer:
    resource = exchange.resource
    if not resource.is_node:
        raise PeerError("nothing to GET here", status=404)
    node, moved = find(exchange, resource)
    exchange.need(node.path, Right.READ)
    if moved is not None:
        return moved
    kind = node.kind()
    if kind is Kind.NONE:
        raise Bare(404)
    if kind is Kind.DIR:
        return folder(exchange, node)
    return file(exchange, node)


def find(exchange: Exchange, resource: Resource) -> tuple[Node, Answer | None]:
    """`?p=PEG&r=REV` of a public URL. Source: subversion 1.14, mod_dav_svn/repos.c."""
    words = parse_qs(exchange.request.query.decode("latin-1"))
    if resource.kind != "public" or not ("p" in words or "r" in words):
        return exchange.node(), None
    peg = query_revision(words, "p", exchange.youngest)
    wanted = query_revision(words, "r", peg)
    if wanted > peg:
        raise PeerError("the peg revision must not be older than the revision")
    if peg > exchange.youngest:
        raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {peg}")
    path = resource.path
    if wanted != peg:
        path = located(exchange.session, path, peg, [wanted]).get(wanted) or b""
        if not path:
            raise PeerError("the file isn't there in that revision", status=404)
        # To what can be kept for ever.
        target = exchange.request.base + quote(path) + b"?p=%d" % wanted
        return node_at(exchange.session, wanted, path), Answer(301, [(b"location", target)])
    return node_at(exchange.session, wanted, path), None


def query_revision(words: dict[str, list[str]], name: str, default: int) -> int:
    if name not in words:
        return default
    text = words[name][-1]
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise PeerError(f"{name}: not a revision")
    return int(text)


def file(exchange: Exchange, node: Node) -> Answer:
    request = exchange.request
    mark = etag(node)
    headers: Headers = [(b"etag", mark), (b"accept-ranges", b"bytes")]
    is_public = exchange.resource.kind == "public"
    # What a peg revision names will never change, but what only `r` names may.
    is_pinned = not is_public or b"p" in parse_qs(request.query)
    headers.append((b"cache-control", WEEK if is_pinned else b"max-age=0"))
    if is_public:
        date = revision_props(exchange.session, node.created_rev()).get(b"svn:date", b"")
        moment = parse_iso(date)
        if moment is not None:
            headers.append((b"last-modified", format_http(moment)))
    if mark in [word.strip() for word in request.header(b"if-none-match").split(b",")]:
        return Answer(304, headers)
    delta = svndiff_of(exchange, node, headers)
    if delta is not None:
        return delta
    headers.append((b"content-type", node.prop(b"svn:mime-type") or b"text/plain"))
    return whole_or_range(exchange, node, headers)


def whole_or_range(exchange: Exchange, node: Node, headers: Headers) -> Answer:
    length = node.length()
    span = read_range(exchange.request.header(b"range"), length)
    if_range = exchange.request.header(b"if-range")
    if span is None or (if_range and (b"etag", if_range) not in headers):
        status, first, size = 200, 0, length
    elif span[0] >= length:
        return Answer(416, [*headers, (b"content-range", b"bytes */%d" % length)])
    else:
        status, first, size = 206, span[0], span[1] - span[0] + 1
        headers.append((b"content-range", b"bytes %d-%d/%d" % (first, span[1], length)))
    blocks = cut(node.text(first), size)
    if exchange.request.method == "HEAD":
        headers.append((b"content-length", b"%d" % size))
        return Answer(status, headers, Stream(iter(())))
    if size <= 256 * 1024:
        return Answer(status, headers, Bytes(b"".join(blocks)))
    headers.append((b"content-length", b"%d" % size))
    return Answer(status, headers, exchange.stream(blocks))


def cut(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    while size > 0:
        block = next(blocks, b"")
        if not block:
            raise SvnError(codes.CHECKSUM_MISMATCH, "a file is shorter than it should be")
        yield block[:size]
        size -= len(block)


def read_range(header: bytes, length: int) -> tuple[int, int] | None:
    """First and last byte; None where the whole is asked for."""
    match = RANGE.match(header)
    if match is None or not (match[1] or match[2]) or len(header) > 60:
        return None
    if not match[1]:
        size = min(int(match[2]), length)
        return (length - size, length - 1) if size else (length, length)
    first = int(match[1])
    last = min(int(match[2]), length - 1) if match[2] else length - 1
    return (first, last) if last >= first or first >= length else None


def svndiff_of(exchange: Exchange, node: Node, headers: Headers) -> Answer | None:
    """The difference to what the client has (`X-SVN-VR-Base`), where both sides can."""
    request = exchange.request
    base_url = request.header(b"x-svn-vr-base")
    version = exchange.svndiff_version()
    if not base_url or version is None:
        return None
    try:
        base_resource = resource_of_url(request.base, base_url)
        if base_resource.revision is None or not base_resource.is_node:
            return None
        base = exchange.node(base_resource)
        if base.kind() is not Kind.FILE or not exchange.session.may_read(base.path):
            return None
    except (PeerError, SvnError):
        return None

    def produce(output: Output) -> None:
        writer = PlainWriter(output, version, exchange.served.compression)
        send_delta(exchange.session, base, node, writer)

    headers += [
        (b"content-type", SVNDIFF_TYPE),
        (b"x-svn-vr-base", base_url),
        (b"vary", b"X-SVN-VR-Base"),
    ]
    return Answer(200, headers, exchange.push(produce))


def folder(exchange: Exchange, node: Node) -> Answer:
    request = exchange.request
    if not request.raw_path.endswith(b"/"):
        query = b"?" + request.query if request.query else b""
        target = request.base + request.raw_path + b"/" + query
        return Answer(301, [(b"location", target)])
    stylesheet = exchange.served.index_stylesheet
    form = Xml(stylesheet) if stylesheet else Html()
    headers = [
        (b"etag", etag(node)),
        (b"content-type", form.type),
        (b"cache-control", b"max-age=0"),  # who may see what may change
    ]
    return Answer(200, headers, exchange.stream(index_blocks(exchange, node, form)))
