"""Lock tokens of a request: in its `If` header, or in its body where there are too many."""

from __future__ import annotations

import re
from collections.abc import Set

from trunkline.errors import PeerError
from trunkline.svn.dav.failure import Bare, DavError
from trunkline.svn.dav.request import Request
from trunkline.svn.dav.url import clean_path, join, resource_of_url
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.locks import find_lock, locks_below
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.update import DEPTHS

# Source: RFC 4918, 10.4. Etags and Not don't come from Subversion's clients.
PART = re.compile(rb"\s*(?:<([^>]*)>|\(([^)]*)\))")
TOKEN = re.compile(rb"<([^>]*)>")

Tokens = list[tuple[bytes, bytes]]  # path, token


def if_tokens(request: Request, path: bytes) -> Tokens:
    found: Tokens = []
    where = path
    for match in PART.finditer(request.header(b"if")):
        if match[1] is not None:
            try:
                where = resource_of_url(request.base, match[1]).path
            except PeerError:
                where = path
        elif not match[2].strip().startswith(b"Not"):
            found += [(where, token) for token in TOKEN.findall(match[2])]
    return [(path, token) for path, token in found if is_sound(token)]


def is_sound(token: bytes) -> bool:
    return token.isascii() and token.startswith(b"opaquelocktoken:")


def read_token_list(body: Element | None, folder: bytes) -> Tokens:
    """Of `S:lock-token-list`, itself or within `body`. Paths are relative to `folder`."""
    if body is None:
        return []
    holder = body if body.name == "lock-token-list" else body.child("lock-token-list")
    found: Tokens = []
    for one in holder.all("lock") if holder else ():
        path, token = one.child("lock-path"), one.child_text("lock-token")
        if path is None or not token or not is_sound(token):
            raise PeerError("lock-token-list: a lock without path or token")
        found.append((clean_path(join(folder, path.text)), token))
    return found


def check_locks(
    session: Session, path: bytes, known: Set[bytes], recursive: bool, user: bytes | None
) -> None:
    """Raises: 423 for a lock whose token isn't there, or that is somebody else's."""
    if recursive:
        locks = locks_below(session, path, DEPTHS[b"infinity"])
    else:
        lock = find_lock(session, path)
        locks = [lock] if lock else []
    for lock in locks:
        if lock.token not in known and not recursive:
            raise Bare(423)
        shown = lock.path.decode("utf-8", "replace")
        if lock.owner != user:
            name = (user or b"").decode("utf-8", "replace")
            owner = lock.owner.decode("utf-8", "replace")
            text = (
                f"User '{name}' does not own lock on path '{shown}' (currently locked by '{owner}')"
            )
            raise DavError(423, codes.FS_LOCK_OWNER_MISMATCH, text)
        if lock.token not in known:
            text = f"Cannot verify lock on path '{shown}'; no matching lock-token available"
            raise DavError(423, codes.FS_BAD_LOCK_TOKEN, text)
