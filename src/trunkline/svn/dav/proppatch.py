"""PROPPATCH: of nodes in a transaction, of transactions, and of revisions."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error

from trunkline.errors import PeerError
from trunkline.reply import Bytes
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import NS_DAV, XML_HEAD, XML_TYPE
from trunkline.svn.dav.properties import NAMESPACES, empty
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.working import assembly, keep_tokens, open_stored, version_name
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.dav.xml_out import escape, is_live, property_name
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.commit import change_revprop
from trunkline.svn.repository.error import SvnError
from trunkline.svn.txn.assembly import Assembly


def proppatch(exchange: Exchange) -> Answer:
    resource, body = exchange.resource, exchange.xml()
    if body is None or body.name != "propertyupdate":
        raise PeerError("PROPPATCH: no propertyupdate")
    takes_any = resource.kind == "public" and exchange.served.autoversioning
    changes = read_changes(body, takes_any)
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


def read_changes(body: Element, takes_any: bool) -> Changes:
    """(name, new value, what it must be before, or False for anything), in their order.
    `takes_any`: properties of foreign namespaces are kept by their names alone, as on a stock
    server that autoversions.
    """
    changes: Changes = []
    for step in body.children:
        holder = step.child("prop")
        for one in holder.children if holder else ():
            name = property_name(one.ns, one.name)
            if name is None and takes_any and not is_live(one.ns):
                name = one.name.encode()
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
