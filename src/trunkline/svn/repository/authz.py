"""Access by path, from a file in the stock authz format; libsvn reads it, and judges."""

from __future__ import annotations

import logging
import os
import re
from enum import IntFlag

from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.library import Pool, check, ffi, lib
from trunkline.svn.repository.values import optional

# A section of the file that is about a path below the root, by its first name.
SECTION = re.compile(rb"^\[(?:([^:\]\n]+):)?/+([^/\]\n]+)", re.MULTILINE)

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
        self._tops: dict[bytes, set[bytes]] = {}  # by repository, b"" for all

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
            self._tops = read_tops(self._file)
            self._rules = out[0]
        except OSError as error:
            log.error("%s: %s", os.fsdecode(self._file), error.strerror)
        except SvnError as error:
            log.error("%s: %s", os.fsdecode(self._file), error.text)

    def allows(self, repository: bytes, path: bytes | None, user: bytes | None, right: int) -> bool:
        """`repository`: its name in the file. `path` None: whether there is any path at all.

        Of all that is below the root, libsvn 1.14 says what is right for the root alone; so what
        the file has rules about is asked for as well.
        """
        if not self._rules:
            return False
        if path == b"/" and right & Right.RECURSIVE:
            tops = self._tops.get(b"", set()) | self._tops.get(repository, set())
            if not all(self._check(repository, top, user, right) for top in tops):
                return False
        return self._check(repository, path, user, right)

    def _check(self, repository: bytes, path: bytes | None, user: bytes | None, right: int) -> bool:
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


def read_tops(file: bytes) -> dict[bytes, set[bytes]]:
    """Topmost paths that hold one with rules of its own. Patterns aren't among them: libsvn heeds
    those below the root, too. Raises: OSError.
    """
    found: dict[bytes, set[bytes]] = {}
    with open(file, "rb") as opened:
        for repository, name in SECTION.findall(opened.read()):
            found.setdefault(repository, set()).add(b"/" + name)
    return found
