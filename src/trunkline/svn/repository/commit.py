"""A commit: one transaction of libsvn's, filled and committed at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trunkline.svn.repository import error as codes
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.library import Pool, check, ffi, lib, read_error
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.values import new_properties, new_string, optional, properties, text

CHECK_LOCKS = 2  # SVN_FS_TXN_CHECK_LOCKS
NO_REVISION = -1


@dataclass(frozen=True, slots=True)
class Committed:
    """`trouble` is what the post-commit hook said; the revision stands."""

    revision: int
    trouble: bytes | None = None


class Transaction:
    """Nothing is left of it when the block ends without `commit`. Raises: SvnError, anywhere."""

    def __init__(self, session: Session, base: int, revprops: Mapping[bytes, bytes]) -> None:
        self._session = session
        self._pool = Pool(session.pool)
        self._txn: Any = None
        try:
            out = ffi.new("svn_fs_txn_t **")
            check(lib.svn_fs_begin_txn2(out, session.fs, base, CHECK_LOCKS, self._pool.handle))
            self._txn = out[0]
            for name, value in revprops.items():
                self.set_revprop(name, value)
            root = ffi.new("svn_fs_root_t **")
            check(lib.svn_fs_txn_root(root, self._txn, self._pool.handle))
            self.root = root[0]
        except BaseException:
            self._abort()
            raise

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, *_: object) -> None:
        self._abort()

    def _abort(self) -> None:
        if self._txn is not None:
            lib.svn_error_clear(lib.svn_fs_abort_txn(self._txn, self._pool.handle))
            self._txn = None
        self._pool.destroy()

    @property
    def name(self) -> bytes:
        out = ffi.new("const char **")
        check(lib.svn_fs_txn_name(out, self._txn, self._pool.handle))
        return text(out[0]) or b""

    def revprops(self) -> dict[bytes, bytes]:
        out = ffi.new("apr_hash_t **")
        with Pool(self._pool) as pool:
            check(lib.svn_fs_txn_proplist(out, self._txn, pool.handle))
            return properties(out[0], pool)

    def set_revprop(self, name: bytes, value: bytes) -> None:
        with Pool(self._pool) as pool:
            string = new_string(value, pool)
            check(lib.svn_repos_fs_change_txn_prop(self._txn, name, string, pool.handle))

    # -- what changes

    def make_dir(self, path: bytes) -> None:
        with Pool(self._pool) as pool:
            check(lib.svn_fs_make_dir(self.root, path, pool.handle))

    def make_file(self, path: bytes) -> None:
        with Pool(self._pool) as pool:
            check(lib.svn_fs_make_file(self.root, path, pool.handle))

    def delete(self, path: bytes) -> None:
        with Pool(self._pool) as pool:
            check(lib.svn_fs_delete(self.root, path, pool.handle))

    def copy(self, revision: int, source: bytes, path: bytes) -> None:
        with Pool(self._pool) as pool:
            root = self._session.root(revision)
            check(lib.svn_fs_copy(root, source, self.root, path, pool.handle))

    def set_prop(self, path: bytes, name: bytes, value: bytes | None) -> None:
        with Pool(self._pool) as pool:
            string = new_string(value, pool)
            check(lib.svn_repos_fs_change_node_prop(self.root, path, name, string, pool.handle))

    def set_text(self, path: bytes, blocks: Iterable[bytes], md5: bytes | None) -> None:
        """The whole text."""
        with Pool(self._pool) as pool:
            out = ffi.new("svn_stream_t **")
            check(lib.svn_fs_apply_text(out, self.root, path, optional(md5), pool.handle))
            write_all(out[0], blocks)

    def apply_svndiff(
        self, path: bytes, blocks: Iterable[bytes], base_md5: bytes | None, md5: bytes | None
    ) -> None:
        """The difference to the text that the file has here."""
        with Pool(self._pool) as pool:
            handler = ffi.new("svn_txdelta_window_handler_t *")
            baton = ffi.new("void **")
            check(
                lib.svn_fs_apply_textdelta(
                    handler,
                    baton,
                    self.root,
                    path,
                    optional(base_md5),
                    optional(md5),
                    pool.handle,
                )
            )
            stream = lib.svn_txdelta_parse_svndiff(handler[0], baton[0], 1, pool.handle)
            write_all(stream, blocks)

    # -- the end

    def commit(self) -> Committed:
        """Runs the hooks. Raises: SvnError; of a conflict with the path that it is in."""
        conflict = ffi.new("const char **")
        revision = ffi.new("svn_revnum_t *", NO_REVISION)
        error = lib.svn_repos_fs_commit_txn(
            conflict, self._session.repos, revision, self._txn, self._pool.handle
        )
        if not error:
            self._txn = None
            return Committed(int(revision[0]))
        if revision[0] != NO_REVISION:
            self._txn = None
            trouble = post_commit_words(error)
            lib.svn_error_clear(error)
            return Committed(int(revision[0]), trouble)
        where = text(conflict[0])
        try:
            check(error)
        except SvnError as failure:
            if failure.code == codes.FS_CONFLICT and where:
                raise SvnError(failure.code, failure.text, failure.codes, where) from None
            raise
        raise AssertionError


def post_commit_words(error: Any) -> bytes:
    """Source: subversion 1.14, libsvn_repos/commit.c (svn_repos__post_commit_error_str)."""
    found, child = read_error(lib, error), error
    while child:
        if child.apr_err == codes.REPOS_POST_COMMIT_HOOK_FAILED:
            inner = child.child or child
            words = text(inner.message)
            return words or found.text.encode()
        child = child.child
    return found.text.encode()


def write_all(stream: Any, blocks: Iterable[bytes]) -> None:
    size = ffi.new("size_t *")
    for block in blocks:
        if block:
            size[0] = len(block)
            check(lib.svn_stream_write(stream, ffi.from_buffer(block), size))
    check(lib.svn_stream_close(stream))


def purge(session: Session, name: bytes) -> None:
    """A transaction that nobody goes on with, if it's there."""
    with Pool(session.pool) as pool:
        lib.svn_error_clear(lib.svn_fs_purge_txn(session.fs, name, pool.handle))


def run_start_commit(session: Session, base: int, revprops: Mapping[bytes, bytes]) -> None:
    """The start-commit hook, on a transaction that is gone afterwards. Raises: SvnError."""
    with Pool(session.pool) as pool:
        out = ffi.new("svn_fs_txn_t **")
        table = new_properties(revprops, pool)
        error = lib.svn_repos_fs_begin_txn_for_commit2(out, session.repos, base, table, pool.handle)
        if out[0] and not error:
            lib.svn_error_clear(lib.svn_fs_abort_txn(out[0], pool.handle))
        check(error)


def change_revprop(
    session: Session,
    revision: int,
    user: bytes | None,
    name: bytes,
    value: bytes | None,
    old: bytes | bool | None = False,
) -> None:
    """Runs the hooks. `old` is what the value must be before, None for not there; False: anything.

    Raises: SvnError.
    """
    with Pool(session.pool) as pool:
        expected = ffi.NULL
        if not isinstance(old, bool):
            expected = ffi.new("svn_string_t const **", new_string(old, pool))
        check(
            lib.svn_repos_fs_change_rev_prop4(
                session.repos,
                revision,
                optional(user),
                name,
                expected,
                new_string(value, pool),
                1,
                1,
                *session.authz(),
                pool.handle,
            )
        )


def svndiff_md5(
    session: Session, source: Any, blocks: Iterable[bytes], target: Any, pool: Pool
) -> bytes:
    """MD5, in hex, of the text that svndiff makes of `source` (a stream), written to `target`."""
    digest = ffi.new("unsigned char[16]")
    handler = ffi.new("svn_txdelta_window_handler_t *")
    baton = ffi.new("void **")
    lib.svn_txdelta_apply(source, target, digest, ffi.NULL, pool.handle, handler, baton)
    stream = lib.svn_txdelta_parse_svndiff(handler[0], baton[0], 1, pool.handle)
    write_all(stream, blocks)
    return bytes(ffi.buffer(digest, 16)).hex().encode()
