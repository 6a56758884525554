"""What a commit changes, as one number: the same of a transaction, and of the revision that it
becomes. So a commit can be found again by somebody who doesn't know its revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from trunkline.svn.repository.commit import Transaction
from trunkline.svn.repository.library import Pool, check, ffi, lib
from trunkline.svn.repository.nodes import Kind, Node, raw_revprops
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.values import string, text

SIZE = 32  # bytes
DATE = b"svn:date"  # given at the commit
EPHEMERAL = b"svn:txn-"  # taken off at the commit
DELETED = 2  # svn_fs_path_change_delete


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Both in hex. `revprops` is the cheap one, to compare first."""

    revprops: str
    changes: str


def of_transaction(session: Session, transaction: Transaction) -> Fingerprint:
    return Fingerprint(of_revprops(transaction.revprops()), of_changes(session, transaction.root))


def is_revision(session: Session, revision: int, wanted: Fingerprint) -> bool:
    if of_revprops(raw_revprops(session, revision)) != wanted.revprops:
        return False
    return of_changes(session, session.root(revision)) == wanted.changes


def of_revprops(revprops: Mapping[bytes, bytes]) -> str:
    return total(
        mark(name, value)
        for name, value in revprops.items()
        if name != DATE and not name.startswith(EPHEMERAL)
    )


def of_changes(session: Session, root: Any) -> str:
    """Doesn't depend on their order, which is libsvn's own."""
    return total(mark(*words) for words in changes(session, root))


def changes(session: Session, root: Any) -> Iterator[list[bytes]]:
    found = ffi.new("svn_fs_path_change_iterator_t **")
    change = ffi.new("svn_repos_path_change_t **")
    with Pool(session.pool) as pool:
        check(lib.svn_fs_paths_changed3(found, root, pool.handle, pool.handle))
        check(lib.svn_fs_path_change_get(change, found[0]))
        while change[0]:
            yield described(session, root, change[0])
            check(lib.svn_fs_path_change_get(change, found[0]))


def described(session: Session, root: Any, change: Any) -> list[bytes]:
    path = string(ffi.addressof(change.path)) or b""
    words = [path, b"%d %d %d" % (change.change_kind, change.text_mod, change.prop_mod)]
    if change.change_kind == DELETED:
        return words
    node = Node(session, root, path)
    if change.copyfrom_known and change.copyfrom_path:
        words += [b"%d" % change.copyfrom_rev, text(change.copyfrom_path) or b""]
    if change.node_kind == Kind.FILE and change.text_mod:
        words.append(node.checksum() or b"")
    if change.prop_mod:
        words += [word for one in sorted(node.props().items()) for word in one]
    return words


def total(marks: Iterable[int]) -> str:
    return f"{sum(marks) % 2 ** (8 * SIZE):x}"


def mark(*words: bytes) -> int:
    digest = sha256()
    for word in words:
        digest.update(b"%d " % len(word) + word)
    return int.from_bytes(digest.digest(), "big")
