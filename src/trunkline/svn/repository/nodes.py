"""Files and folders of a revision (or of a transaction): what is there, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple

from trunkline.svn.repository.library import Pool, check, ffi, lib
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.values import ctype, properties, string, text

REVPROPS_KEPT = 1000  # revisions, within one request
READ_SIZE = 512 * 1024  # bytes of a file's text at once


class Kind(IntEnum):
    NONE = 0
    FILE = 1
    DIR = 2
    UNKNOWN = 3


KINDS = tuple(Kind)


class Stat(NamedTuple):
    """`time` is microseconds since 1970, None where the revision says none."""

    kind: Kind
    size: int
    has_props: bool
    created_rev: int
    time: int | None
    author: bytes | None


class Node:
    """One path below a root. Holds no memory of libsvn's but the root's."""

    __slots__ = ("path", "root", "session")

    def __init__(self, session: Session, root: Any, path: bytes) -> None:
        self.session = session
        self.root = root
        self.path = path

    def _ask(self, ctype: str, function: Any) -> Any:
        out = ffi.new(ctype)
        with Pool(self.session.pool) as pool:
            check(function(out, self.root, self.path, pool.handle))
        return out[0]

    def kind(self) -> Kind:
        return Kind(self._ask("svn_node_kind_t *", lib.svn_fs_check_path))

    def root_revision(self) -> int:
        return int(lib.svn_fs_revision_root_revision(self.root))

    def created_rev(self) -> int:
        return int(self._ask("svn_revnum_t *", lib.svn_fs_node_created_rev))

    def has_props(self) -> bool:
        return bool(self._ask("svn_boolean_t *", lib.svn_fs_node_has_props))

    def length(self) -> int:
        return int(self._ask("svn_filesize_t *", lib.svn_fs_file_length))

    def created_path(self) -> bytes:
        out = ffi.new("const char **")
        with Pool(self.session.pool) as pool:
            check(lib.svn_fs_node_created_path(out, self.root, self.path, pool.handle))
            return text(out[0]) or b""

    def safe_rev(self, default: int) -> int:
        """The revision where this node came to be at this very path; else `default`: what was
        copied with its folder was made under another name.
        """
        path, revision = ffi.new("const char **"), ffi.new("svn_revnum_t *")
        with Pool(self.session.pool) as pool:
            check(lib.svn_fs_node_created_path(path, self.root, self.path, pool.handle))
            if text(path[0]) != self.path:
                return default
            check(lib.svn_fs_node_created_rev(revision, self.root, self.path, pool.handle))
        return int(revision[0])

    def props(self) -> dict[bytes, bytes]:
        out = ffi.new("apr_hash_t **")
        with Pool(self.session.pool) as pool:
            check(lib.svn_fs_node_proplist(out, self.root, self.path, pool.handle))
            return properties(out[0], pool)

    def prop(self, name: bytes) -> bytes | None:
        out = ffi.new("svn_string_t **")
        with Pool(self.session.pool) as pool:
            check(lib.svn_fs_node_prop(out, self.root, self.path, name, pool.handle))
            return string(out[0])

    def stat(self) -> Stat | None:
        out = ffi.new("svn_dirent_t **")
        with Pool(self.session.pool) as pool:
            check(lib.svn_repos_stat(out, self.root, self.path, pool.handle))
            return read_stat(out[0]) if out[0] else None

    def entries(self) -> list[tuple[bytes, Kind]]:
        """Names, sorted."""
        out, array = ffi.new("apr_hash_t **"), ffi.new("apr_array_header_t **")
        with Pool(self.session.pool) as pool:
            own = pool.handle
            check(lib.svn_fs_dir_entries(out, self.root, self.path, own))
            # Whatever its order is: a hash costs a few calls for each entry.
            check(lib.svn_fs_dir_optimal_order(array, self.root, out[0], own, own))
            items = ffi.cast(ctype("svn_fs_dirent_t **"), array[0].elts)
            found = [
                (ffi.string(item.name), KINDS[item.kind])
                for item in ffi.unpack(items, array[0].nelts)
            ]
        found.sort()
        return found

    def checksum(self, kind: str = "md5", force: bool = True) -> bytes | None:
        """In hex. Without `force` only if it is known."""
        out = ffi.new("svn_checksum_t **")
        number, size = (1, 20) if kind == "sha1" else (0, 16)
        with Pool(self.session.pool) as pool:
            check(
                lib.svn_fs_file_checksum(out, number, self.root, self.path, int(force), pool.handle)
            )
            if not out[0]:
                return None
            return bytes(ffi.buffer(out[0].digest, size)).hex().encode()

    def text(self, skip: int = 0) -> Iterator[bytes]:
        """A file's content in blocks. The first `skip` bytes are read, but not given."""
        out = ffi.new("svn_stream_t **")
        buffer = ffi.new("char[]", READ_SIZE)
        size = ffi.new("size_t *")
        with Pool(self.session.pool) as pool:
            check(lib.svn_fs_file_contents(out, self.root, self.path, pool.handle))
            while True:
                size[0] = READ_SIZE if not skip else min(skip, READ_SIZE)
                asked = size[0]
                check(lib.svn_stream_read_full(out[0], buffer, size))
                if skip:
                    skip -= size[0]
                else:
                    yield ffi.buffer(buffer, size[0])[:]
                if size[0] < asked:
                    break
            check(lib.svn_stream_close(out[0]))


def read_stat(dirent: Any) -> Stat:
    return Stat(
        KINDS[dirent.kind],
        dirent.size,
        bool(dirent.has_props),
        dirent.created_rev,
        dirent.time or None,
        text(dirent.last_author),
    )


def node_at(session: Session, revision: int, path: bytes) -> Node:
    """Raises: SvnError, no such revision."""
    return Node(session, session.root(revision), path)


def revision_props(session: Session, revision: int) -> dict[bytes, bytes]:
    """All that may be read."""
    known = session.revprops.get(revision)
    if known is not None:
        return known
    out = ffi.new("apr_hash_t **")
    with Pool(session.pool) as pool:
        check(
            lib.svn_repos_fs_revision_proplist(
                out, session.repos, revision, *session.authz(), pool.handle
            )
        )
        found = properties(out[0], pool)
    if len(session.revprops) >= REVPROPS_KEPT:
        session.revprops.clear()
    session.revprops[revision] = found
    return found


def raw_revprops(session: Session, revision: int, is_fresh: bool = False) -> dict[bytes, bytes]:
    """Those that the user mustn't read, too. `is_fresh`: what was read since the session began
    will do.
    """
    out = ffi.new("apr_hash_t **")
    with Pool(session.pool) as pool:
        own = pool.handle
        check(lib.svn_fs_revision_proplist2(out, session.fs, revision, not is_fresh, own, own))
        return properties(out[0], pool)
