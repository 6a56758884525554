"""Methods that put a commit together: POST, PUT, MKCOL, COPY, DELETE, PROPPATCH, and v1's words.

A transaction's tree is `txr/T` in HTTP v2 and `wrk/T` in v1; both are the same to us.
Source: subversion 1.14, mod_dav_svn/{repos,version,posts/create_txn}.c; libsvn_ra_serf/commit.c.
"""

from __future__ import annotations

from trunkline.errors import PeerError
from trunkline.svn.commit.names import MEDIA_TYPE
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import DavError
from trunkline.svn.dav.names import (
    SKEL_TYPE,
    SVNDIFF_TYPE,
)
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.skel import parse_properties, parse_skel
from trunkline.svn.dav.stream import commit_stream
from trunkline.svn.dav.tokens import read_token_list
from trunkline.svn.dav.url import quote, resource_of_url, special
from trunkline.svn.dav.working import (
    TXNS,
    assembly,
    keep_tokens,
    open_stored,
    start,
    version_name,
)
from trunkline.svn.dav.xml_in import parse
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.authz import Right
from trunkline.svn.repository.error import SvnError
from trunkline.svn.txn.assembly import Assembly, Props
from trunkline.svn.txn.overlay import Origin


def post(exchange: Exchange) -> Answer:
    request = exchange.request
    if exchange.resource.kind != "me":
        raise PeerError("POST: not here", status=405)
    media_type = request.header(b"content-type").split(b";")[0].strip()
    run = POSTS.get(media_type)
    if run is None:
        raise PeerError("POST: not a media type that is known here", status=415)
    return run(exchange)


def create_txn(exchange: Exchange) -> Answer:
    request = exchange.request
    limit = exchange.served.xml_limit
    body = b"".join(bounded(request.blocks, limit))
    skel = parse_skel(body)
    if not isinstance(skel, list) or not skel:
        raise PeerError("POST: no request")
    props: Props = []
    if skel[0] == b"create-txn-with-props" and len(skel) == 2:
        props = [(name, value) for name, value in parse_properties(skel[1])]
    elif skel[0] != b"create-txn":
        raise SvnError(codes.UNSUPPORTED_FEATURE, "Unsupported skel POST request flavor.")
    name = request.header(b"svn-vtxn-name") or None
    stored = start(exchange, props, name)
    header = b"svn-vtxn-name" if name else b"svn-txn-name"
    return Answer(201, [(header, stored.name)])


POSTS = {SKEL_TYPE: create_txn, MEDIA_TYPE: commit_stream}


def bounded(blocks: object, limit: int) -> list[bytes]:
    found, size = [], 0
    for block in blocks:  # type: ignore[attr-defined]
        size += len(block)
        if size > limit:
            raise PeerError(f"the body is longer than {limit} bytes", status=413)
        found.append(block)
    return found


def put(exchange: Exchange) -> Answer:
    request, resource = exchange.request, exchange.resource
    with assembly(exchange) as made:
        keep_tokens(exchange, made)
        is_svndiff = request.header(b"content-type").split(b";")[0].strip() == SVNDIFF_TYPE
        if not is_svndiff and request.header(b"content-range"):
            raise PeerError("PUT: of a part isn't known here", status=501)
        is_new, digest = made.put(
            resource.path,
            request.blocks,
            is_svndiff,
            request.header(b"x-svn-base-fulltext-md5") or None,
            request.header(b"x-svn-result-fulltext-md5") or None,
            version_name(exchange),
        )
    headers = [(b"x-svn-result-fulltext-md5", digest)]
    if not is_new:
        return Answer(204, headers)
    return created(exchange, resource.path, headers)


def created(exchange: Exchange, path: bytes, headers: list[tuple[bytes, bytes]]) -> Answer:
    where = exchange.request.base + quote(path)
    return Answer(201, [*headers, (b"location", where)])


def mkcol(exchange: Exchange) -> Answer:
    if any(exchange.request.blocks):
        raise PeerError("MKCOL: takes no body", status=415)
    with assembly(exchange) as made:
        keep_tokens(exchange, made)
        made.mkdir(exchange.resource.path)
    return created(exchange, exchange.resource.path, [])


def copy(exchange: Exchange) -> Answer:
    """The source is committed; the destination, compared by path only, is in a transaction, or
    makes a commit of its own.
    """
    request, source = exchange.request, exchange.resource
    target = resource_of_url(request.base, request.header(b"destination"))
    if not source.is_node:
        raise PeerError("COPY: only from a revision", status=405)
    revision = exchange.youngest if source.revision is None else source.revision
    if revision > exchange.youngest:
        raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {revision}")
    exchange.need(source.path, Right.READ | Right.RECURSIVE)
    exchange.need(target.path, Right.WRITE | Right.RECURSIVE)
    overwrite = request.header(b"overwrite").strip().upper() != b"F"
    with assembly(exchange, target) as made:
        keep_tokens(exchange, made, target.path)
        replaced = made.copy(Origin(revision, source.path), target.path, overwrite)
        if request.method == "MOVE":
            exchange.need(source.path, Right.WRITE | Right.RECURSIVE)
            keep_tokens(exchange, made, source.path, recursive=True)
            made.delete(source.path, None)
    return Answer(204) if replaced else created(exchange, target.path, [])


def delete(exchange: Exchange) -> Answer:
    resource = exchange.resource
    if resource.kind in TXNS:
        return forget(exchange)
    with assembly(exchange) as made:
        body = parse(exchange.request.blocks, exchange.served.xml_limit)
        tokens = read_token_list(body, resource.path)
        keep_tokens(exchange, made, more=tokens, recursive=True)
        made.delete(resource.path, version_name(exchange))
    return Answer(204)


def forget(exchange: Exchange) -> Answer:
    """An activity of HTTP v1 is deleted after its commit, too, when nothing is left of it."""
    try:
        open_stored(exchange).remove()
    except SvnError as error:
        if error.code != codes.FS_NO_SUCH_TRANSACTION or exchange.resource.kind != "act":
            raise
    return Answer(204)


def mkactivity(exchange: Exchange) -> Answer:
    """HTTP v1's way to begin a transaction: its name is the client's."""
    resource = exchange.resource
    if resource.kind != "act":
        raise PeerError("MKACTIVITY: not here", status=403)
    start(exchange, [], resource.txn)
    where = special(exchange.request.base, b"act/" + quote(resource.txn))
    return Answer(201, [(b"location", where)])


def checkout(exchange: Exchange) -> Answer:
    """HTTP v1: where a version can be changed. A stale one is refused."""
    resource, body = exchange.resource, exchange.xml()
    activity = body.child("activity-set") if body else None
    href = activity.child_text("href") if activity else None
    if href is None:
        raise PeerError("CHECKOUT: no activity", status=409)
    found = resource_of_url(exchange.request.base, href)
    stored = open_stored(exchange, found)
    base = exchange.request.base
    if resource.kind in ("bln", "vcc"):
        revision = resource.revision if resource.revision is not None else stored.head().base
        where = special(base, b"wbl/%s/%d" % (quote(stored.name), revision))
        return Answer(201, [(b"location", where)])
    if resource.kind not in ("ver", "rvr") or resource.revision is None:
        raise PeerError("CHECKOUT: only of a version", status=403)
    with Assembly(exchange.session, stored) as made:
        check_checkout(made, resource.path, resource.revision)
    where = special(base, b"wrk/" + quote(stored.name) + quote(resource.path).rstrip(b"/"))
    return Answer(201, [(b"location", where)])


def check_checkout(made: Assembly, path: bytes, revision: int) -> None:
    try:
        made.check_version(path, made.need(path), revision)
    except SvnError as error:
        if error.code == codes.RA_OUT_OF_DATE:
            text = "resource out of date; try updating"
            raise DavError(409, codes.FS_CONFLICT, text) from None
        raise
