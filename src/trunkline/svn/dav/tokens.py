"""Lock tokens of a request: in its `If` header, or in its body where there are too many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from trunkline.errors import PeerError
from trunkline.svn.dav.failure import Bare, DavError
from trunkline.svn.dav.properties import etag
from trunkline.svn.dav.request import Request
from trunkline.svn.dav.url import clean_path, join, resource_of_url
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.locks import find_lock, locks_below
from trunkline.svn.repository.nodes import Kind, node_at
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.update import DEPTHS

# Source: RFC 4918, 10.4.
PART = re.compile(rb"\s*(?:<([^>]*)>|\(((?:\[[^\]]*\]|[^)\[])*)\))")
CONDITION = re.compile(rb"(Not\s+)?(?:<([^>]*)>|\[([^\]]*)\])", re.IGNORECASE)

Tokens = list[tuple[bytes, bytes]]  # path, token


def if_lists(request: Request, path: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Of an `If` header: a path, and the conditions that are one list."""
    where = path
    for match in PART.finditer(request.header(b"if")):
        if match[1] is None:
            yield where, match[2].strip()
            continue
        try:
            where = resource_of_url(request.base, match[1]).path
        except PeerError:
            where = path


def if_tokens(request: Request, path: bytes) -> Tokens:
    return [
        (where, one[2])
        for where, conditions in if_lists(request, path)
        for one in CONDITION.finditer(conditions)
        if one[1] is None and one[2] is not None and is_sound(one[2])
    ]


def if_holds(request: Request, path: bytes, session: Session, revision: int) -> bool:
    """Whether all conditions of any list are true of what is there."""
    lists = list(if_lists(request, path))
    return not lists or any(is_so(session, revision, *one) for one in lists)


def is_so(session: Session, revision: int, path: bytes, conditions: bytes) -> bool:
    lock, node = find_lock(session, path), node_at(session, revision, path)
    token = None if lock is None else lock.token
    mark = None if node.kind() is Kind.NONE else etag(node)
    return all(
        (mark == one[3] if one[2] is None else token == one[2]) is (one[1] is None)
        for one in CONDITION.finditer(conditions)
    )


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
