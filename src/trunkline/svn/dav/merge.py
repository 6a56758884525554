"""MERGE: the commit itself. Source: subversion 1.14, mod_dav_svn/{version,merge}.c."""

from __future__ import annotations

from contextlib import suppress

from trunkline.errors import PeerError
from trunkline.reply import Bytes
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import DavError
from trunkline.svn.dav.names import XML_HEAD, XML_TYPE
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.tokens import Tokens, read_token_list
from trunkline.svn.dav.url import quote, resource_of_url, special, versioned
from trunkline.svn.dav.working import TXNS, open_stored
from trunkline.svn.dav.xml_out import escape, filtered, printable
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.commit import Committed
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.locks import unlock_all
from trunkline.svn.repository.log import Change, Listener, LogWish, read_log
from trunkline.svn.repository.nodes import Kind, revision_props
from trunkline.svn.txn.assembly import Assembly


def merge(exchange: Exchange) -> Answer:
    request, body = exchange.request, exchange.xml()
    source = body.child("source") if body else None
    href = source.child_text("href") if source else None
    if href is None:
        raise PeerError("MERGE: no source")
    resource = resource_of_url(request.base, href)
    if resource.kind not in TXNS:
        raise PeerError("MERGE: the source is no transaction", status=405)
    stored = open_stored(exchange, resource)
    tokens = read_token_list(body, exchange.resource.path)
    with Assembly(exchange.session, stored) as made:
        try:
            committed = made.commit(tokens)
        except SvnError as error:
            raise conflict(error) from None
    stored.remove()
    if b"release-locks" in request.options:
        release(exchange, tokens)
    return merged(exchange, committed)


def conflict(error: SvnError) -> Exception:
    if error.code in (codes.FS_CONFLICT, codes.FS_TXN_OUT_OF_DATE):
        return DavError(409, codes.FS_CONFLICT, error.text)
    if error.code in (codes.FS_NOT_FOUND, codes.FS_ALREADY_EXISTS):
        return DavError(409, error.code, error.text)
    return error


def release(exchange: Exchange, tokens: Tokens) -> None:
    """At once: one by one takes the square of their number."""
    with suppress(SvnError):  # those of what was deleted are gone already
        unlock_all(exchange.session, dict(tokens), break_lock=False)


def merged(exchange: Exchange, committed: Committed) -> Answer:
    base, revision = exchange.request.base, committed.revision
    props = revision_props(exchange.session, revision)
    pieces = [
        XML_HEAD + b'<D:merge-response xmlns:D="DAV:">\n<D:updated-set>\n<D:response>\n'
        b"<D:href>%s</D:href>\n<D:propstat><D:prop>\n"
        b"<D:resourcetype><D:baseline/></D:resourcetype>\n" % special(base, b"vcc/default")
    ]
    if committed.trouble is not None:
        words = printable(committed.trouble)
        pieces.append(b'<S:post-commit-err xmlns:S="svn:">%s</S:post-commit-err>\n' % words)
    pieces.append(b"<D:version-name>%d</D:version-name>\n" % revision)
    if b"svn:date" in props:
        pieces.append(b"<D:creationdate>%s</D:creationdate>\n" % escape(props[b"svn:date"]))
    if b"svn:author" in props:
        name = filtered(props[b"svn:author"])
        pieces.append(b"<D:creator-displayname>%s</D:creator-displayname>\n" % name)
    pieces.append(
        b"</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n</D:response>\n"
    )
    if b"no-merge-response" not in exchange.request.options:
        pieces += changed(exchange, revision)
    pieces.append(b"</D:updated-set>\n</D:merge-response>\n")
    return Answer(200, [(b"content-type", XML_TYPE)], Bytes(b"".join(pieces)))


def changed(exchange: Exchange, revision: int) -> list[bytes]:
    """What clients of HTTP v1 note down: the new version's URL of each path."""
    base, found = exchange.request.base, []

    def note(change: Change) -> None:
        if change.kind == "delete":
            return
        kind = b"<D:collection/>" if change.node_kind is Kind.DIR else b""
        found.append(
            b"<D:response>\n<D:href>%s</D:href>\n<D:propstat><D:prop>\n"
            b"<D:resourcetype>%s</D:resourcetype>\n<D:checked-in><D:href>%s</D:href>"
            b"</D:checked-in>\n</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n"
            b"</D:response>\n"
            % (
                escape(base + quote(change.path)),
                kind,
                escape(versioned(base, b"ver", revision, change.path)),
            )
        )

    wish = LogWish([b"/"], revision, revision, revprops=[], with_changes=True)
    read_log(exchange.session, wish, Listener(note, lambda _: None))
    return found
