"""PROPFIND, of depth 0 and 1: streamed, a folder's entries one by one."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.errors import PeerError
from trunkline.svn.dav.dates import format_iso
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import Bare
from trunkline.svn.dav.names import DAV, XML_HEAD, XML_TYPE
from trunkline.svn.dav.properties import (
    NAMESPACES,
    Subject,
    all_properties,
    names_only,
    some_properties,
)
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.url import Resource, join, quote
from trunkline.svn.dav.working import TREES, assembly
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.dav.xml_out import escape
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.authz import Right
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.locks import find_lock
from trunkline.svn.repository.nodes import Kind, Node

HEAD = XML_HEAD + b'<D:multistatus xmlns:D="DAV:">\n'
FOOT = b"</D:multistatus>\n"

Asked = list[tuple[str, str]] | str  # what is named, or "allprop", or "propname"


def propfind(exchange: Exchange) -> Answer:
    depth = exchange.request.header(b"depth") or b"infinity"
    asked = read_asked(exchange.xml())
    if depth not in (b"0", b"1"):
        raise PeerError("PROPFIND of depth infinity isn't allowed", status=403)
    subjects = list_subjects(exchange, with_entries=depth == b"1")
    first = next(subjects)
    body = exchange.stream(blocks(first, subjects, asked))
    headers = [(b"content-type", XML_TYPE), *lock_headers(exchange, first, asked)]
    return Answer(207, headers, body)


def lock_headers(exchange: Exchange, subject: Subject, asked: Asked) -> list[tuple[bytes, bytes]]:
    """What a client that asks for a lock is told besides the body."""
    path = subject.node.path if subject.node else subject.locked_path
    if isinstance(asked, str) or (DAV, "lockdiscovery") not in asked or path is None:
        return []
    found = find_lock(exchange.session, path)
    if found is None:
        return []
    return [
        (b"x-svn-creation-date", format_iso(found.created)),
        (b"x-svn-lock-owner", found.owner),
    ]


def read_asked(root: Element | None) -> Asked:
    if root is None:
        return "allprop"
    for word in ("allprop", "propname"):
        if root.child(word) is not None:
            return word
    found = root.child("prop")
    if root.name != "propfind" or found is None:
        raise PeerError("PROPFIND: the body asks for nothing")
    return [(one.ns, one.name) for one in found.children]


def list_subjects(exchange: Exchange, with_entries: bool) -> Iterator[Subject]:
    """The resource itself first. Raises: SvnError, PeerError for what isn't there."""
    request, resource = exchange.request, exchange.resource
    href = request.base + request.raw_path
    subject = find_subject(exchange, resource, href)
    if subject.node_kind is not Kind.DIR or subject.node is None:
        yield subject
        return
    subject.href = href if href.endswith(b"/") else href + b"/"
    yield subject
    if with_entries:
        for name, kind in subject.node.entries():
            path = join(subject.node.path, name)
            if exchange.session.may_read(path):
                yield entry_subject(subject, subject.node, path, name, kind)


def entry_subject(parent: Subject, folder: Node, path: bytes, name: bytes, kind: Kind) -> Subject:
    node = Node(folder.session, folder.root, path)
    href = parent.href + quote(name) + (b"/" if kind is Kind.DIR else b"")
    found = Subject(
        parent.base,
        href,
        parent.session,
        parent.revision,
        node,
        parent.kind,
        parent.autoversioning,
    )
    found.node_kind = kind
    return found


def find_subject(exchange: Exchange, resource: Resource, href: bytes) -> Subject:
    session, base = exchange.session, exchange.request.base
    if resource.kind in ("rev", "bln"):
        revision = resource.revision or 0
        if revision > exchange.youngest:
            raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {revision}")
        return Subject(base, href, session, revision, None, resource.kind)
    if resource.kind == "vcc":
        return vcc_subject(exchange, href)
    if resource.kind in TREES:
        return tree_subject(exchange, href)
    if not resource.is_node:
        raise PeerError("this resource has no properties", status=404)
    node = exchange.node(resource)
    kind = node.kind()
    if kind is Kind.NONE and resource.kind == "public" and find_lock(session, node.path):
        youngest = exchange.youngest
        return Subject(base, href, session, youngest, None, "null", locked_path=node.path)
    if kind is Kind.NONE:
        raise Bare(404)
    revision = exchange.youngest if resource.revision is None else resource.revision
    auto = exchange.served.autoversioning
    found = Subject(base, href, session, revision, node, resource.kind, auto)
    found.node_kind = kind
    return found


def tree_subject(exchange: Exchange, href: bytes) -> Subject:
    """Of a transaction as it is by now: whether something is there, and of which kind."""
    resource = exchange.resource
    exchange.need(resource.path, Right.READ)
    with assembly(exchange) as made:
        kind = made.need(resource.path).kind
    base, session = exchange.request.base, exchange.session
    found = Subject(base, href, session, made.base, None, resource.kind)
    found.node_kind = kind
    return found


def vcc_subject(exchange: Exchange, href: bytes) -> Subject:
    """A `Label` header asks for one revision's baseline. Source: RFC 3253, 8.3."""
    label = exchange.request.header(b"label")
    base, session = exchange.request.base, exchange.session
    if label:
        if not label.isdigit():
            raise PeerError("Label: not a revision")
        href = base + b"/!svn/bln/" + label
        return Subject(base, href, session, int(label), None, "bln")
    return Subject(base, href, session, exchange.youngest, None, "vcc")


def blocks(first: Subject, rest: Iterator[Subject], asked: Asked) -> Iterator[bytes]:
    yield HEAD + response(first, asked)
    for subject in rest:
        yield response(subject, asked)
    yield FOOT


def response(subject: Subject, asked: Asked) -> bytes:
    missing: list[bytes] = []
    if asked == "propname":
        there = names_only(subject)
    elif isinstance(asked, str):
        there = all_properties(subject)
    else:
        there, missing = some_properties(subject, asked)
    return b"<D:response%s>\n<D:href>%s</D:href>\n%s%s</D:response>\n" % (
        NAMESPACES,
        escape(subject.href),
        propstat(there, b"200 OK") if there or not missing else b"",
        propstat(missing, b"404 Not Found") if missing else b"",
    )


def propstat(pieces: list[bytes], status: bytes) -> bytes:
    return (
        b"<D:propstat>\n<D:prop>\n%s\n</D:prop>\n<D:status>HTTP/1.1 %s</D:status>\n</D:propstat>\n"
        % (
            b"\n".join(pieces),
            status,
        )
    )
