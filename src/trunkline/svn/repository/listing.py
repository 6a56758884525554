"""A tree's nodes with their facts; mergeinfo and inherited properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trunkline.svn.repository.library import Pool, callback, check, ffi, lib
from trunkline.svn.repository.nodes import Stat, read_stat
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.values import properties, string, text, text_array

Give = Callable[[bytes, Stat], None]


@callback("svn_error_t *(const char *, svn_dirent_t *, void *, apr_pool_t *)")
def _dirent(path: Any, dirent: Any, baton: Any, _pool: Any) -> None:
    ffi.from_handle(baton)(text(path) or b"", read_stat(dirent))


def list_tree(
    session: Session,
    root: Any,
    path: bytes,
    patterns: Sequence[bytes] | None,
    depth: int,
    is_short: bool,
    give: Give,
) -> None:
    """Paths in the repository, `path` itself first. `is_short`: kinds only."""
    with Pool(session.pool) as pool:
        globs = ffi.NULL if patterns is None else text_array(patterns, pool)
        check(
            lib.svn_repos_list(
                root,
                path,
                globs,
                depth,
                int(is_short),
                *session.authz(),
                _dirent(),
                pool.baton(give),
                ffi.NULL,
                ffi.NULL,
                pool.handle,
            )
        )


@callback("svn_error_t *(const char *, apr_hash_t *, void *, apr_pool_t *)")
def _mergeinfo(path: Any, mergeinfo: Any, baton: Any, pool: Any) -> None:
    out = ffi.new("svn_string_t **")
    check(lib.svn_mergeinfo_to_string(out, mergeinfo, pool))
    ffi.from_handle(baton).append((text(path) or b"", string(out[0]) or b""))


def merged_ranges(
    session: Session,
    paths: Sequence[bytes],
    revision: int,
    inherit: int,
    with_descendants: bool,
) -> list[tuple[bytes, bytes]]:
    """(path, svn:mergeinfo)."""
    found: list[tuple[bytes, bytes]] = []
    with Pool(session.pool) as pool:
        check(
            lib.svn_repos_fs_get_mergeinfo2(
                session.repos,
                text_array(paths, pool),
                revision,
                inherit,
                int(with_descendants),
                *session.authz(),
                _mergeinfo(),
                pool.baton(found),
                pool.handle,
            )
        )
    return found


def inherited_props(
    session: Session, revision: int, path: bytes
) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """(path, properties) of its parents, the root first."""
    out = ffi.new("apr_array_header_t **")
    found = []
    with Pool(session.pool) as pool:
        check(
            lib.svn_repos_fs_get_inherited_props(
                out,
                session.root(revision),
                path,
                ffi.NULL,
                *session.authz(),
                pool.handle,
                pool.handle,
            )
        )
        items = ffi.cast("svn_prop_inherited_item_t **", out[0].elts)
        for at in range(out[0].nelts):
            props = properties(items[at].prop_hash, pool)
            found.append((text(items[at].path_or_url) or b"", props))
    return found
