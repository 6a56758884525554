"""Log entries and the texts of a file's revisions, as libsvn walks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from trunkline.svn.repository.editor import SvndiffWriter, write_svndiff_to
from trunkline.svn.repository.library import Pool, callback, check, ffi, lib
from trunkline.svn.repository.nodes import KINDS, Kind
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.values import named_properties, properties, string, text, text_array

CHANGES = ("modify", "add", "delete", "replace", "reset")
TRISTATE_TRUE = 3


class Change(NamedTuple):
    kind: str
    node_kind: Kind
    path: bytes
    text_mods: bool
    prop_mods: bool
    source: bytes | None
    source_rev: int


class Entry(NamedTuple):
    """`revision` -1 ends a group of merged revisions; `revprops` as asked for."""

    revision: int
    revprops: dict[bytes, bytes]
    has_children: bool
    subtractive_merge: bool


@dataclass(frozen=True, slots=True)
class LogWish:
    paths: Sequence[bytes]
    start: int
    end: int
    limit: int = 0
    strict: bool = False
    with_merged: bool = False
    revprops: Sequence[bytes] | None = None  # None: all
    with_changes: bool = False


@dataclass
class Listener:
    """A revision's changes come before its entry."""

    change: Callable[[Change], None]
    entry: Callable[[Entry], None]
    pool: Pool = field(init=False)
    names: Sequence[bytes] | None = None


@callback("svn_error_t *(void *, svn_repos_path_change_t *, apr_pool_t *)")
def _change(baton: Any, change: Any, _pool: Any) -> None:
    known = bool(change.copyfrom_known)
    ffi.from_handle(baton).change(
        Change(
            CHANGES[change.change_kind],
            KINDS[change.node_kind],
            ffi.buffer(change.path.data, change.path.len)[:],
            bool(change.text_mod),
            bool(change.prop_mod),
            text(change.copyfrom_path) if known else None,
            change.copyfrom_rev if known else -1,
        )
    )


@callback("svn_error_t *(void *, svn_repos_log_entry_t *, apr_pool_t *)")
def _entry(baton: Any, entry: Any, _pool: Any) -> None:
    listener = ffi.from_handle(baton)
    if listener.names is not None:
        revprops = named_properties(entry.revprops, listener.names)
    else:
        revprops = properties(entry.revprops, listener.pool)
        listener.pool.clear()
    listener.entry(
        Entry(
            entry.revision,
            revprops,
            bool(entry.has_children),
            bool(entry.subtractive_merge),
        )
    )


def read_log(session: Session, wish: LogWish, listener: Listener) -> None:
    """Raises: SvnError, and what the listener raises."""
    with Pool(session.pool) as pool:
        listener.pool = Pool(pool)
        listener.names = wish.revprops
        baton = pool.baton(listener)
        check(
            lib.svn_repos_get_logs5(
                session.repos,
                text_array(wish.paths, pool),
                wish.start,
                wish.end,
                wish.limit,
                int(wish.strict),
                int(wish.with_merged),
                ffi.NULL if wish.revprops is None else text_array(wish.revprops, pool),
                *session.authz(),
                _change() if wish.with_changes else ffi.NULL,
                baton,
                _entry(),
                baton,
                pool.handle,
            )
        )


class FileRevs(Protocol):
    """Told of each revision of a file; gives a writer for its difference to the one before.

    `has_text` is False where only properties changed.
    """

    svndiff_handle: Any
    pool: Pool

    def revision(
        self,
        path: bytes,
        revision: int,
        revprops: dict[bytes, bytes],
        prop_changes: list[tuple[bytes, bytes | None]],
        is_merged: bool,
        has_text: bool,
    ) -> SvndiffWriter | None: ...


@callback(
    "svn_error_t *(void *, const char *, svn_revnum_t, apr_hash_t *, svn_boolean_t, "
    "svn_txdelta_window_handler_t *, void **, apr_array_header_t *, apr_pool_t *)"
)
def _file_rev(
    baton: Any,
    path: Any,
    revision: int,
    revprops: Any,
    is_merged: int,
    handler: Any,
    handler_baton: Any,
    prop_diffs: Any,
    raw_pool: Any,
) -> None:
    listener = ffi.from_handle(baton)
    changes = []
    props = ffi.cast("svn_prop_t *", prop_diffs.elts)
    for at in range(prop_diffs.nelts):
        changes.append((bytes(ffi.string(props[at].name)), string(props[at].value)))
    all_revprops = properties(revprops, listener.pool)
    listener.pool.clear()
    has_text = bool(handler)
    writer = listener.revision(
        text(path), revision, all_revprops, changes, bool(is_merged), has_text
    )
    if writer is not None and has_text:
        listener.svndiff_handle = write_svndiff_to(writer, raw_pool, handler, handler_baton)


def read_file_revs(
    session: Session, path: bytes, start: int, end: int, with_merged: bool, listener: FileRevs
) -> None:
    with Pool(session.pool) as pool:
        listener.pool = Pool(pool)
        check(
            lib.svn_repos_get_file_revs2(
                session.repos,
                path,
                start,
                end,
                int(with_merged),
                *session.authz(),
                _file_rev(),
                pool.baton(listener),
                pool.handle,
            )
        )
