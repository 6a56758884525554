"""Locks on paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.library import Pool, callback, check, ffi, lib, read_error
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.values import hash_items, new_text, text


@dataclass(frozen=True, slots=True)
class Lock:
    """Times are microseconds since 1970; `expires` is 0 for never."""

    path: bytes
    token: bytes
    owner: bytes
    comment: bytes | None
    created: int
    expires: int
    is_dav_comment: bool


def read_lock(lock: Any) -> Lock:
    return Lock(
        text(lock.path) or b"",
        text(lock.token) or b"",
        text(lock.owner) or b"",
        text(lock.comment),
        int(lock.creation_date),
        int(lock.expiration_date),
        bool(lock.is_dav_comment),
    )


def find_lock(session: Session, path: bytes) -> Lock | None:
    out = ffi.new("svn_lock_t **")
    with Pool(session.pool) as pool:
        check(lib.svn_fs_get_lock(out, session.fs, path, pool.handle))
        return read_lock(out[0]) if out[0] else None


def locks_below(session: Session, path: bytes, depth: int) -> list[Lock]:
    """Those that may be seen, by path."""
    out = ffi.new("apr_hash_t **")
    with Pool(session.pool) as pool:
        check(
            lib.svn_repos_fs_get_locks2(
                out, session.repos, path, depth, *session.authz(), pool.handle
            )
        )
        found = [
            read_lock(ffi.cast("svn_lock_t *", value)) for _, value in hash_items(out[0], pool)
        ]
    return sorted(found, key=lambda lock: lock.path)


@dataclass(slots=True)
class Outcome:
    """Of one path."""

    lock: Lock | None = None
    error: SvnError | None = None


@callback("svn_error_t *(void *, const char *, const svn_lock_t *, svn_error_t *, apr_pool_t *)")
def _outcome(baton: Any, _path: Any, lock: Any, error: Any, _pool: Any) -> None:
    outcome = ffi.from_handle(baton)
    if error:
        outcome.error = read_error(lib, error)
    elif lock:
        outcome.lock = read_lock(lock)


def lock_path(
    session: Session,
    path: bytes,
    token: bytes | None,
    comment: bytes | None,
    revision: int,
    steal: bool,
    expires: int = 0,
    is_dav_comment: bool = False,
) -> Lock:
    """Runs the hooks. Raises: SvnError."""
    outcome = Outcome()
    with Pool(session.pool) as pool:
        targets = lib.apr_hash_make(pool.handle)
        target = lib.svn_fs_lock_target_create(new_text(token, pool), revision, pool.handle)
        lib.apr_hash_set(targets, new_text(path, pool), -1, target)
        error = lib.svn_repos_fs_lock_many(
            session.repos,
            targets,
            new_text(comment, pool),
            int(is_dav_comment),
            expires,
            int(steal),
            _outcome(),
            pool.baton(outcome),
            pool.handle,
            pool.handle,
        )
        settle(error, outcome)
    assert outcome.lock is not None
    return outcome.lock


def unlock_path(session: Session, path: bytes, token: bytes | None, break_lock: bool) -> None:
    """Raises: SvnError."""
    unlock_all(session, {path: token}, break_lock)


def unlock_all(session: Session, tokens: Mapping[bytes, bytes | None], break_lock: bool) -> None:
    outcome = Outcome()
    with Pool(session.pool) as pool:
        targets = lib.apr_hash_make(pool.handle)
        for path, token in tokens.items():
            value = new_text(token if token is not None else b"", pool)
            lib.apr_hash_set(targets, new_text(path, pool), -1, value)
        error = lib.svn_repos_fs_unlock_many(
            session.repos,
            targets,
            int(break_lock),
            _outcome(),
            pool.baton(outcome),
            pool.handle,
            pool.handle,
        )
        settle(error, outcome)


POST_HOOKS = (165008, 165009)  # they failed, but what they came after was done


def settle(error: Any, outcome: Outcome) -> None:
    try:
        check(error)
    except SvnError as failure:
        if failure.code not in POST_HOOKS or (outcome.lock is None and outcome.error is None):
            raise
    if outcome.error is not None:
        raise outcome.error


def new_token(session: Session) -> bytes:
    out = ffi.new("const char **")
    with Pool(session.pool) as pool:
        check(lib.svn_fs_generate_lock_token(out, session.fs, pool.handle))
        return text(out[0]) or b""
