"""A repository that is open for one thread at a time, and the roots of its revisions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from trunkline.svn.repository.authz import Authz, Right
from trunkline.svn.repository.library import Pool, callback, check, ffi, lib, warning_callback
from trunkline.svn.repository.values import new_text, text, text_array

ROOTS_KEPT = 8  # of a session; each holds what was read of its revision's folders


@dataclass(frozen=True, slots=True)
class Rules:
    """Access by path: a file in the stock authz format, and the repository's name in it."""

    file: bytes
    repository: bytes


CAPABILITIES = (b"mergeinfo", b"depth", b"log-revprops")


class Session:
    """Not thread-safe, but any thread may use it while no other does."""

    def __init__(self, path: bytes) -> None:
        self.pool = Pool()
        try:
            out = ffi.new("svn_repos_t **")
            check(lib.svn_repos_open3(out, path, ffi.NULL, self.pool.handle, self.pool.handle))
            self.repos = out[0]
            check(lib.svn_repos_hooks_setenv(self.repos, ffi.NULL, self.pool.handle))
            self.fs = lib.svn_repos_fs(self.repos)
            lib.svn_fs_set_warning_func(self.fs, warning_callback(), ffi.NULL)
            uuid = ffi.new("const char **")
            check(lib.svn_fs_get_uuid(self.fs, uuid, self.pool.handle))
        except BaseException:
            self.pool.destroy()
            raise
        self.uuid = text(uuid[0]) or b""
        self.path = path
        self._roots: OrderedDict[int, tuple[Any, Pool]] = OrderedDict()
        self.revprops: dict[int, dict[bytes, bytes]] = {}
        self._user: bytes | None = None
        self._rules: Rules | None = None
        self._authz: Authz | None = None
        self._handle = ffi.new_handle(self)
        self._user_pool: Pool | None = None

    def close(self) -> None:
        self._roots.clear()
        if self._authz is not None:
            self._authz.close()
        self.pool.destroy()

    # -- who asks

    def begin(self, user: bytes | None, rules: Rules | None = None) -> None:
        """The user of what follows, for hooks, locks and authors; None is nobody."""
        self._user = user
        self._take_rules(rules)
        # Another process may have changed them since the last request.
        self.revprops.clear()
        with Pool(self.pool) as pool:
            check(lib.svn_fs_refresh_revision_props(self.fs, pool.handle))
        if self._user_pool is not None:
            self._user_pool.destroy()
            self._user_pool = None
        if user is None:
            check(lib.svn_fs_set_access(self.fs, ffi.NULL))
            return
        self._user_pool = Pool(self.pool)
        access = ffi.new("svn_fs_access_t **")
        name = new_text(user, self._user_pool)
        check(lib.svn_fs_create_access(access, name, self._user_pool.handle))
        check(lib.svn_fs_set_access(self.fs, access[0]))
        self._access = access[0]

    def _take_rules(self, rules: Rules | None) -> None:
        if rules != self._rules:
            if self._authz is not None:
                self._authz.close()
            self._rules = rules
            self._authz = None if rules is None else Authz(rules.file)
        if self._authz is not None:
            self._authz.refresh()

    @property
    def has_rules(self) -> bool:
        """Whether there are any for paths."""
        return self._rules is not None

    def allows(self, path: bytes | None, right: int) -> bool:
        """Whether the user has it by the rules for paths, if there are any. None: anywhere."""
        if self._authz is None or self._rules is None:
            return True
        return self._authz.allows(self._rules.repository, path, self._user, right)

    def may_read(self, path: bytes) -> bool:
        return self.allows(path, Right.READ)

    def add_lock_tokens(self, tokens: list[tuple[bytes, bytes]]) -> None:
        """(path, token) pairs. Nobody has none."""
        if self._user_pool is None:
            return
        for path, token in tokens:
            check(
                lib.svn_fs_access_add_lock_token2(
                    self._access, new_text(path, self._user_pool), new_text(token, self._user_pool)
                )
            )

    def say_capabilities(self, names: tuple[bytes, ...]) -> None:
        """What the client can do; for the start-commit hook."""
        check(lib.svn_repos_remember_client_capabilities(self.repos, text_array(names, self.pool)))

    def authz(self) -> tuple[Any, Any]:
        """Function and baton; both NULL when everything may be read."""
        if self._authz is None:
            return ffi.NULL, ffi.NULL
        return may_read_path(), self._handle

    # -- revisions

    def youngest(self) -> int:
        out = ffi.new("svn_revnum_t *")
        with Pool(self.pool) as pool:
            check(lib.svn_fs_youngest_rev(out, self.fs, pool.handle))
        return int(out[0])

    def root(self, revision: int) -> Any:
        """Raises: SvnError, no such revision."""
        known = self._roots.get(revision)
        if known is None:
            pool = Pool(self.pool)
            out = ffi.new("svn_fs_root_t **")
            try:
                check(lib.svn_fs_revision_root(out, self.fs, revision, pool.handle))
            except BaseException:
                pool.destroy()
                raise
            known = self._roots[revision] = (out[0], pool)
        self._roots.move_to_end(revision)
        return known[0]

    def forget_roots(self) -> None:
        while len(self._roots) > ROOTS_KEPT:
            _, (_, pool) = self._roots.popitem(last=False)
            pool.destroy()

    def has_mergeinfo(self) -> bool:
        out = ffi.new("svn_boolean_t *")
        with Pool(self.pool) as pool:
            check(lib.svn_repos_has_capability(self.repos, out, b"mergeinfo", pool.handle))
        return bool(out[0])


@callback("svn_error_t *(svn_boolean_t *, svn_fs_root_t *, const char *, void *, apr_pool_t *)")
def may_read_path(allowed: Any, _root: Any, path: Any, baton: Any, _pool: Any) -> None:
    name = text(path) or b""
    allowed[0] = ffi.from_handle(baton).may_read(name if name.startswith(b"/") else b"/" + name)


class Sessions:
    """Open sessions of one worker, lent to one request at a time. Thread-safe."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._lock = Lock()
        self._idle: list[tuple[object, Session]] = []  # the last used is the next

    @contextmanager
    def lend(
        self, path: bytes, identity: object, user: bytes | None, rules: Rules | None = None
    ) -> Iterator[Session]:
        """Raises: SvnError where the repository can't be opened."""
        session = self._take((path, identity)) or Session(path)
        try:
            session.begin(user, rules)
            yield session
        except BaseException:
            session.close()
            raise
        session.forget_roots()
        self._give((path, identity), session)

    def _take(self, key: object) -> Session | None:
        with self._lock:
            for at in range(len(self._idle) - 1, -1, -1):
                if self._idle[at][0] == key:
                    return self._idle.pop(at)[1]
        return None

    def _give(self, key: object, session: Session) -> None:
        with self._lock:
            self._idle.append((key, session))
            old = [self._idle.pop(0)[1] for _ in range(len(self._idle) - self._kept)]
        for unused in old:
            unused.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, session in idle:
            session.close()
