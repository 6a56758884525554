"""Access by path, from a file in the stock authz format; libsvn reads it, and judges."""

from __future__ import annotations

import logging
import os
from enum import IntFlag

from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.library import Pool, check, ffi, lib
from trunkline.svn.repository.values import optional

log = logging.getLogger(__name__)


class Right(IntFlag):
    """Source: subversion 1.14, include/svn_repos.h."""

    READ = 1
    WRITE = 2
    RECURSIVE = 4


class Authz:
    """Not for two threads at a time. Read again when the file changes.

    A file that can't be read gives nobody anything, and the log says so.
    """

    def __init__(self, file: bytes) -> None:
        self._file = file
        self._seen: tuple[int, ...] | None = None
        self._pool: Pool | None = None
        self._rules = ffi.NULL

    def refresh(self) -> None:
        """Before each request."""
        try:
            found = os.stat(self._file)
            seen = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        except OSError as error:
            log.error("%s: %s", os.fsdecode(self._file), error.strerror)
            self.close()
            return
        if seen != self._seen:
            self.close()
            self._seen = seen
            self._read()

    def _read(self) -> None:
        self._pool = pool = Pool()
        out = ffi.new("svn_authz_t **")
        try:
            check(
                lib.svn_repos_authz_read3(
                    out, self._file, ffi.NULL, 1, ffi.NULL, pool.handle, pool.handle
                )
            )
            self._rules = out[0]
        except SvnError as error:
            log.error("%s: %s", os.fsdecode(self._file), error.text)

    def allows(self, repository: bytes, path: bytes | None, user: bytes | None, right: int) -> bool:
        """`repository`: its name in the file. `path` None: whether there is any path at all."""
        if not self._rules:
            return False
        granted = ffi.new("svn_boolean_t *")
        with Pool(self._pool) as pool:
            check(
                lib.svn_repos_authz_check_access(
                    self._rules,
                    repository,
                    optional(path),
                    optional(user),
                    int(right),
                    granted,
                    pool.handle,
                )
            )
        return bool(granted[0])

    def close(self) -> None:
        self._rules = ffi.NULL
        self._seen = None
        if self._pool is not None:
            self._pool.destroy()
            self._pool = None
