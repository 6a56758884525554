"""LOCK and UNLOCK of public URLs. Source: subversion 1.14, mod_dav_svn/lock.c."""

from __future__ import annotations

import re
import time

from trunkline.errors import PeerError
from trunkline.reply import Bytes
from trunkline.svn.dav.active_lock import active_lock
from trunkline.svn.dav.dates import format_iso
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import DavError
from trunkline.svn.dav.names import XML_HEAD, XML_TYPE
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.tokens import if_tokens
from trunkline.svn.dav.working import assembly, version_name
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.locks import Lock, find_lock, lock_path, unlock_path
from trunkline.svn.repository.nodes import Kind

SECONDS = re.compile(rb"^Second-(\d{1,10})$", re.IGNORECASE)
MAX_COMMENT = 1024 * 1024  # bytes


def lock(exchange: Exchange) -> Answer:
    request, resource = exchange.request, exchange.resource
    if resource.kind != "public":
        raise PeerError("LOCK: only of a public URL", status=405)
    if request.user is None:
        raise nobody(exchange, "Anonymous lock creation is not allowed.")
    body = exchange.xml()
    if body is None:
        return refresh(exchange)
    check_wish(body)
    owner = body.child("owner")
    comment = None if owner is None else "".join(owner.parts).encode()
    if comment is not None and len(comment) > MAX_COMMENT:
        raise PeerError("LOCK: the comment is too long", status=413)
    version = version_name(exchange)
    check_there(exchange, version)
    made = lock_path(
        exchange.session,
        resource.path,
        None,
        comment,
        -1 if version is None else version,
        b"lock-steal" in request.options,
        expires(request.header(b"timeout")),
        is_dav_comment=not request.is_svn,
    )
    return locked(exchange, made)


def nobody(exchange: Exchange, text: str) -> DavError:
    """A lock must be somebody's."""
    return DavError(401 if exchange.served.has_logins else 403, codes.FS_NO_USER, text)


def check_there(exchange: Exchange, version: int | None) -> None:
    kind = exchange.node().kind()
    if kind is Kind.DIR:
        raise SvnError(codes.FS_NOT_FILE, "Path is a folder, which can't be locked")
    if kind is Kind.NONE and exchange.served.autoversioning and not exchange.request.is_svn:
        make_empty(exchange)
    elif kind is Kind.NONE and version is None:
        raise PeerError("LOCK: there is no such file", status=405)


def make_empty(exchange: Exchange) -> None:
    """A plain WebDAV client locks a file before it puts it. Source: RFC 4918, 9.10.4."""
    with assembly(exchange) as made:
        made.put(exchange.resource.path, [], False, None, None, None)
    exchange.forget_youngest()


def check_wish(body: Element) -> None:
    scope, kind = body.child("lockscope"), body.child("locktype")
    if body.name != "lockinfo" or scope is None or kind is None or kind.child("write") is None:
        raise PeerError("LOCK: no lockinfo")
    if scope.child("exclusive") is None:
        raise PeerError("LOCK: only exclusive locks are known here", status=412)


def expires(timeout: bytes) -> int:
    """Microseconds since 1970, 0 for never. The first word that is understood counts."""
    for word in timeout.split(b","):
        match = SECONDS.match(word.strip())
        if match:
            return int((time.time() + int(match[1])) * 1_000_000)
        if word.strip().lower() == b"infinite":
            return 0
    return 0


def refresh(exchange: Exchange) -> Answer:
    """A LOCK without a body: the same lock, with a new time to live."""
    request, path = exchange.request, exchange.resource.path
    known = find_lock(exchange.session, path)
    tokens = {token for _, token in if_tokens(request, path)}
    if known is None or known.token not in tokens:
        raise PeerError("LOCK: no such lock to refresh", status=412)
    made = lock_path(
        exchange.session,
        path,
        known.token,
        known.comment,
        -1,
        True,
        expires(request.header(b"timeout")),
        known.is_dav_comment,
    )
    return locked(exchange, made)


def locked(exchange: Exchange, made: Lock) -> Answer:
    headers = [
        (b"content-type", XML_TYPE),
        (b"lock-token", b"<%s>" % made.token),
        (b"x-svn-creation-date", format_iso(made.created)),
        (b"x-svn-lock-owner", made.owner),
    ]
    body = (
        XML_HEAD + b'<D:prop xmlns:D="DAV:">\n<D:lockdiscovery>\n%s\n</D:lockdiscovery>\n'
        b"</D:prop>\n" % active_lock(made)
    )
    return Answer(200, headers, Bytes(body))


def unlock(exchange: Exchange) -> Answer:
    request, resource = exchange.request, exchange.resource
    if resource.kind != "public":
        raise PeerError("UNLOCK: only of a public URL", status=405)
    token = request.header(b"lock-token").strip().strip(b"<>")
    if not token:
        raise PeerError("UNLOCK: no Lock-Token")
    breaks = b"lock-break" in request.options
    if request.user is None and not breaks:
        raise nobody(exchange, "Anonymous lock removal is not allowed.")
    known = find_lock(exchange.session, resource.path)
    if known is None or (known.token != token and not breaks):
        path = resource.path.decode("utf-8", "replace")
        raise DavError(400, codes.FS_NO_SUCH_LOCK, f"No lock on path '{path}'")
    try:
        unlock_path(exchange.session, resource.path, token, breaks)
    except SvnError as error:
        if error.code == codes.FS_LOCK_OWNER_MISMATCH:
            raise DavError(403, error.code, error.text) from None
        raise
    return Answer(204)
