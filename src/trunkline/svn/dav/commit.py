"""Methods that put a commit together: POST, PUT, MKCOL, COPY, DELETE, PROPPATCH, and v1's words.

A transaction's tree is `txr/T` in HTTP v2 and `wrk/T` in v1; both are the same to us.
Source: subversion 1.14, mod_dav_svn/{repos,version,posts/create_txn}.c; libsvn_ra_serf/commit.c.
"""

from __future__ import annotations

import os
from base64 import b64decode
from binascii import Error as Base64Error

from trunkline.errors import PeerError
from trunkline.reply import Bytes
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import DavError
from trunkline.svn.dav.names import (
    CLIENT_CAPABILITIES,
    NS_DAV,
    SKEL_TYPE,
    SVNDIFF_TYPE,
    XML_HEAD,
    XML_TYPE,
)
from trunkline.svn.dav.properties import NAMESPACES, empty
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.skel import parse_properties, parse_skel
from trunkline.svn.dav.tokens import check_locks, if_tokens, read_token_list
from trunkline.svn.dav.url import Resource, quote, resource_of_url, special
from trunkline.svn.dav.xml_in import Element, parse
from trunkline.svn.dav.xml_out import escape, property_name
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.authz import Right
from trunkline.svn.repository.commit import change_revprop, run_start_commit
from trunkline.svn.repository.error import SvnError
from trunkline.svn.txn.area import Stored, Transactions
from trunkline.svn.txn.assembly import Assembly, Props
from trunkline.svn.txn.overlay import Origin

TREES = ("txr", "vtxr", "wrk")
TXNS = ("txn", "vtxn", "act")


def transactions(exchange: Exchange) -> Transactions:
    session = exchange.session
    return exchange.served.area.of(exchange.served.path, session.uuid)


def open_stored(exchange: Exchange, resource: Resource | None = None) -> Stored:
    found = resource or exchange.resource
    return transactions(exchange).open(found.txn, exchange.request.user)


def assembly(exchange: Exchange) -> Assembly:
    if exchange.resource.kind not in TREES:
        raise PeerError("only what is in a transaction can be changed", status=405)
    return Assembly(exchange.session, open_stored(exchange))


def version_name(exchange: Exchange) -> int | None:
    text = exchange.request.header(b"x-svn-version-name").strip()
    return int(text) if text.isdigit() and len(text) <= 10 else None


def start(exchange: Exchange, props: Props, name: bytes | None = None) -> Stored:
    """A transaction on the youngest revision. Runs the start-commit hook."""
    session, user = exchange.session, exchange.request.user
    base = exchange.youngest
    revprops = {name: value for name, value in props if value is not None}
    if user is not None:
        revprops[b"svn:author"] = user
    if has_start_commit(exchange.served.path):
        said = exchange.request.header(b"dav").decode("latin-1")
        session.say_capabilities(
            tuple(word for token, word in CLIENT_CAPABILITIES.items() if token in said)
        )
        run_start_commit(session, base, revprops)
    stored = transactions(exchange).create(base, user, name)
    if props:
        with Assembly(session, stored) as made:
            made.set_revprops(props)
    return stored


def has_start_commit(path: bytes) -> bool:
    return os.access(path + b"/hooks/start-commit", os.X_OK)


def post(exchange: Exchange) -> Answer:
    request = exchange.request
    if exchange.resource.kind != "me":
        raise PeerError("POST: not here", status=405)
    if request.header(b"content-type").split(b";")[0].strip() != SKEL_TYPE:
        raise PeerError("POST: not a media type that is known here", status=415)
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
    """The source is committed; the destination, compared by path only, is in a transaction."""
    request, source = exchange.request, exchange.resource
    target = resource_of_url(request.base, request.header(b"destination"))
    if target.kind not in TREES or not source.is_node:
        raise PeerError("COPY: only from a revision into a transaction", status=405)
    revision = exchange.youngest if source.revision is None else source.revision
    if revision > exchange.youngest:
        raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {revision}")
    exchange.need(source.path, Right.READ | Right.RECURSIVE)
    exchange.need(target.path, Right.WRITE)
    stored = open_stored(exchange, target)
    with Assembly(exchange.session, stored) as made:
        keep_tokens(exchange, made, target.path)
        overwrite = request.header(b"overwrite").strip().upper() != b"F"
        replaced = made.copy(Origin(revision, source.path), target.path, overwrite)
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


def keep_tokens(
    exchange: Exchange,
    made: Assembly,
    path: bytes | None = None,
    more: list[tuple[bytes, bytes]] | None = None,
    recursive: bool = False,
) -> None:
    """Lock tokens of the request are kept for the commit, and must be enough for `path`."""
    path = exchange.resource.path if path is None else path
    tokens = [*if_tokens(exchange.request, path), *(more or [])]
    known = made.tokens | {token for _, token in tokens}
    check_locks(exchange.session, path, known, recursive, exchange.request.user)
    made.add_tokens(tokens)


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


# -- properties


def proppatch(exchange: Exchange) -> Answer:
    resource, body = exchange.resource, exchange.xml()
    if body is None or body.name != "propertyupdate":
        raise PeerError("PROPPATCH: no propertyupdate")
    changes = read_changes(body)
    if resource.kind in ("rev", "bln"):
        patch_revision(exchange, changes)
    elif resource.kind in ("txn", "vtxn", "wbl"):
        with Assembly(exchange.session, open_stored(exchange)) as made:
            made.set_revprops([(name, value) for name, value, _ in changes])
    else:
        with assembly(exchange) as made:
            keep_tokens(exchange, made)
            props = [(name, value) for name, value, _ in changes]
            made.set_props(resource.path, props, version_name(exchange))
    return patched(exchange, body)


Changes = list[tuple[bytes, bytes | None, bytes | bool | None]]


def read_changes(body: Element) -> Changes:
    """(name, new value, what it must be before, or False for anything), in their order."""
    changes: Changes = []
    for step in body.children:
        holder = step.child("prop")
        for one in holder.children if holder else ():
            name = property_name(one.ns, one.name)
            if name is None:
                raise PeerError("PROPPATCH: a live property can't be changed", status=409)
            value = None if step.name == "remove" else value_of(one)
            changes.append((name, value, old_value(one)))
    return changes


def value_of(one: Element) -> bytes | None:
    """Raises: PeerError for what is no base64."""
    if one.attrs.get(NS_DAV + "absent") is not None:
        return None
    text = "".join(one.parts).encode()
    encoding = one.attrs.get(NS_DAV + "encoding")
    if encoding is None:
        return text
    if encoding != "base64":
        raise PeerError("PROPPATCH: an unknown encoding")
    try:
        return b64decode(text)
    except (Base64Error, ValueError):
        raise PeerError("PROPPATCH: not base64") from None


def old_value(one: Element) -> bytes | bool | None:
    found = one.child("old-value", NS_DAV)
    return False if found is None else value_of(found)


def patch_revision(exchange: Exchange, changes: Changes) -> None:
    revision = exchange.resource.revision or 0
    if revision > exchange.youngest:
        raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {revision}")
    for name, value, old in changes:
        change_revprop(exchange.session, revision, exchange.request.user, name, value, old)
    exchange.session.revprops.clear()


def patched(exchange: Exchange, body: Element) -> Answer:
    names = [
        empty(one.ns, one.name)
        for step in body.children
        for holder in step.all("prop")
        for one in holder.children
    ]
    href = escape(exchange.request.base + exchange.request.raw_path)
    text = (
        XML_HEAD + b'<D:multistatus xmlns:D="DAV:">\n<D:response%s>\n<D:href>%s</D:href>\n'
        b"<D:propstat>\n<D:prop>\n%s\n</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n"
        b"</D:propstat>\n</D:response>\n</D:multistatus>\n" % (NAMESPACES, href, b"\n".join(names))
    )
    return Answer(207, [(b"content-type", XML_TYPE)], Bytes(text))
