"""A transaction of libsvn's, filled as a commit stream says: one call an operation.

What libsvn checks itself (locks, checksums, parents) is left to it; its words mustn't name the
folder of the repository, so what would is found here first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trunkline.svn.commit.record import Copy, Delete, Form, MakeDir, Mode, Props, Text
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.authz import Right
from trunkline.svn.repository.commit import Transaction
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.nodes import Kind, Node, node_at
from trunkline.svn.repository.session import Session

Need = Callable[[bytes, int], None]
CHANGED_HERE = -1  # what `created_rev` is of a node that this transaction changed


class Filling:
    """`need(path, right)` raises what says that the user hasn't got it.

    Raises: SvnError, and what `need` raises, anywhere.
    """

    def __init__(self, session: Session, transaction: Transaction, base: int, need: Need) -> None:
        self._session = session
        self._transaction = transaction
        self._base = base
        self._need = need
        self._replaced: set[bytes] = set()

    def make_dir(self, wish: MakeDir) -> None:
        self._need(wish.path, Right.WRITE)
        if self._kind(wish.path) is not Kind.NONE:
            raise exists("Path", wish.path)
        self._need_parent(wish.path)
        self._transaction.make_dir(wish.path)

    def delete(self, wish: Delete) -> None:
        self._need(wish.path, Right.WRITE | Right.RECURSIVE)
        if wish.path == b"/":
            raise SvnError(codes.INCORRECT_PARAMS, "The root can't be deleted")
        self._check_base(wish.path, self._need_node(wish.path), wish.base)
        self._transaction.delete(wish.path)

    def copy(self, wish: Copy) -> None:
        if wish.revision > self._base:
            raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {wish.revision}")
        self._need(wish.source, Right.READ | Right.RECURSIVE)
        self._need(wish.path, Right.WRITE | Right.RECURSIVE)
        if node_at(self._session, wish.revision, wish.source).kind() is Kind.NONE:
            raise SvnError(codes.FS_NOT_FOUND, f"Path '{shown(wish.source)}' not found")
        if self._kind(wish.path) is not Kind.NONE:
            raise exists("Path", wish.path)
        self._need_parent(wish.path)
        self._transaction.copy(wish.revision, wish.source, wish.path)
        if node_at(self._session, self._base, wish.path).kind() is not Kind.NONE:
            self._replaced.add(wish.path)

    def set_props(self, wish: Props) -> None:
        self._need(wish.path, Right.WRITE)
        self._check_base(wish.path, self._need_node(wish.path), wish.base)
        for name, value in wish.changes:
            self._transaction.set_prop(wish.path, name, value)

    def put(self, wish: Text, blocks: Iterable[bytes]) -> None:
        self._need(wish.path, Right.WRITE)
        self._need_place(wish)
        if wish.form is Form.SVNDIFF:
            self._transaction.apply_svndiff(wish.path, blocks, wish.base_md5, wish.result_md5)
        else:
            self._transaction.set_text(wish.path, blocks, wish.result_md5)

    def _need_place(self, wish: Text) -> None:
        """A file where the text goes, made if it may be."""
        kind = self._kind(wish.path)
        if kind is Kind.DIR and wish.mode is not Mode.ADD:
            raise SvnError(codes.FS_NOT_FILE, f"'{shown(wish.path)}' is not a file")
        if kind is not Kind.NONE:
            if wish.mode is Mode.ADD:
                raise exists("File", wish.path)
            self._check_base(wish.path, kind, wish.base)
        elif wish.mode is Mode.OPEN or wish.base is not None:
            raise missing(wish.path)
        else:
            self._need_parent(wish.path)
            self._transaction.make_file(wish.path)

    # -- what is there

    def _kind(self, path: bytes) -> Kind:
        return Node(self._session, self._transaction.root, path).kind()

    def _need_node(self, path: bytes) -> Kind:
        kind = self._kind(path)
        if kind is Kind.NONE:
            raise missing(path)
        return kind

    def _need_parent(self, path: bytes) -> None:
        parent = path.rpartition(b"/")[0] or b"/"
        kind = self._kind(parent)
        if kind is Kind.NONE:
            raise missing(path)  # as stock says it
        if kind is Kind.FILE:
            raise SvnError(codes.FS_NOT_DIRECTORY, f"'{shown(parent)}' is not a directory")

    def _check_base(self, path: bytes, kind: Kind, base: int | None) -> None:
        """Whether the sender knew the newest there is. Source: mod_dav_svn/repos.c."""
        if base is None:
            return
        if base > self._base:
            raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {base}")
        created = Node(self._session, self._transaction.root, path).created_rev()
        stale = base < created
        if created == CHANGED_HERE and kind is Kind.DIR and not self._is_replaced(path):
            stale = self._is_changed_since(path, base)
        if stale:
            what = "Directory" if kind is Kind.DIR else "File"
            raise SvnError(codes.RA_OUT_OF_DATE, f"{what} '{shown(path)}' is out of date")

    def _is_replaced(self, path: bytes) -> bool:
        """It's in a copy, so the folder that was there before doesn't matter."""
        while path and self._replaced:
            if path in self._replaced:
                return True
            path = path.rpartition(b"/")[0]
        return False

    def _is_changed_since(self, path: bytes, base: int) -> bool:
        """A folder that this transaction changed something in was the newest before. What was
        checked of a file when its text came isn't asked again.
        """
        before = node_at(self._session, self._base, path)
        return before.kind() is Kind.DIR and base < before.created_rev()


def shown(path: bytes) -> str:
    return path.decode("utf-8", "replace")


def exists(what: str, path: bytes) -> SvnError:
    return SvnError(codes.FS_ALREADY_EXISTS, f"{what} '{shown(path)}' already exists")


def missing(path: bytes) -> SvnError:
    return SvnError(codes.FS_NOT_FOUND, f"Path '{shown(path)}' not found")
