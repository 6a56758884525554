"""Where a node was, in other revisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.svn.repository.library import Pool, callback, check, ffi, lib
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.values import revision_array, text


@dataclass(frozen=True, slots=True)
class Segment:
    """`path` is None where the node didn't exist, or may not be seen."""

    first: int
    last: int
    path: bytes | None


def located(session: Session, path: bytes, peg: int, revisions: Sequence[int]) -> dict[int, bytes]:
    """The paths that the node at `path` in `peg` has in other revisions, where it is there."""
    out = ffi.new("apr_hash_t **")
    with Pool(session.pool) as pool:
        check(
            lib.svn_repos_trace_node_locations(
                session.fs,
                out,
                path,
                peg,
                revision_array(revisions, pool),
                *session.authz(),
                pool.handle,
            )
        )
        return dict(_locations(out[0], pool))


def _locations(table: Any, pool: Pool) -> list[tuple[int, bytes]]:
    """Keys are revision numbers, as C has them in memory."""
    found = []
    index = lib.apr_hash_first(pool.handle, table)
    while index:
        revision = ffi.cast("const svn_revnum_t *", lib.apr_hash_this_key(index))[0]
        path = text(ffi.cast("const char *", lib.apr_hash_this_val(index)))
        found.append((int(revision), path or b""))
        index = lib.apr_hash_next(index)
    return sorted(found)


@callback("svn_error_t *(svn_location_segment_t *, void *, apr_pool_t *)")
def _segment(segment: Any, baton: Any, _pool: Any) -> None:
    give = ffi.from_handle(baton)
    give(Segment(int(segment.range_start), int(segment.range_end), text(segment.path)))


def segments(
    session: Session,
    path: bytes,
    peg: int,
    start: int,
    end: int,
    give: Callable[[Segment], None],
) -> None:
    """Youngest first. -1 is the youngest revision (peg, start) or the oldest (end)."""
    with Pool(session.pool) as pool:
        check(
            lib.svn_repos_node_location_segments(
                session.repos,
                path,
                peg,
                start,
                end,
                _segment(),
                pool.baton(give),
                *session.authz(),
                pool.handle,
            )
        )


def deleted_revision(session: Session, path: bytes, peg: int, end: int) -> int:
    """When `path` went; -1 if it didn't before `end`."""
    out = ffi.new("svn_revnum_t *")
    with Pool(session.pool) as pool:
        check(lib.svn_repos_deleted_rev(session.fs, path, peg, end, out, pool.handle))
    return int(out[0])


def dated_revision(session: Session, microseconds: int) -> int:
    out = ffi.new("svn_revnum_t *")
    with Pool(session.pool) as pool:
        check(lib.svn_repos_dated_revision(out, session.repos, microseconds, pool.handle))
    return int(out[0])
