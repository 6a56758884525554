"""Files that a configuration came from, and whether any of them is another one now.

They belong to whoever owns the repository, and Mercurial would read whatever they lead to: a FIFO
for ever, a device without end, a file as often as others include it. So they are looked at first.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable

from trunkline.errors import StoreError

FILES_LIMIT = 1000  # files that one configuration is read from; each counts as often as included
TEXT_LIMIT = 1024 * 1024  # bytes in all of them: Mercurial takes 3 s for as much

Signature = tuple[tuple[int, int, int, int, int] | None, ...]

# Source: hg 7.2.4, mercurial/config.py, includere; CR ends a line, too, and a BOM may stand first.
_INCLUDE = re.compile(rb"^%include\s+(\S|\S.*\S)\s*$", re.MULTILINE)
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
_BOM = b"\xef\xbb\xbf"


class UnreadableFile(StoreError):
    """It is there. Mercurial goes on without it, and so without the `deny_read` in it."""


def sign(paths: Iterable[str]) -> Signature:
    """For each path: mtime and ctime in ns (a chmod or chgrp moves only that), size, inode and
    owner last; None while it isn't there."""
    signature: list[tuple[int, int, int, int, int] | None] = []
    for path in paths:
        try:
            found = os.stat(path)
        except (OSError, ValueError):  # a name may hold a NUL
            signature.append(None)
        else:
            times = found.st_mtime_ns, found.st_ctime_ns
            signature.append((*times, found.st_size, found.st_ino, found.st_uid))
    return tuple(signature)


def with_includes(paths: Iterable[str], must_be_readable: bool = True) -> tuple[str, ...]:
    """`paths` and every file that they name by %include, there or not.

    Only what to look at is found here; what the files mean, Mercurial itself says.
    Raises: StoreError for files that can't be read to an end, or `must_be_readable` and aren't.
    """
    seen: dict[str, None] = {}
    waiting = list(paths)[::-1]
    visits, left = 0, TEXT_LIMIT
    while waiting:
        path = waiting.pop()
        seen[path] = None
        try:
            text = read_text(path, left)
        except UnreadableFile:
            if must_be_readable:
                raise
            text = b""
        visits, left = visits + 1, left - len(text)
        if visits > FILES_LIMIT:
            raise StoreError(f"a configuration of more than {FILES_LIMIT} files", path)
        waiting.extend(reversed(_included(path, text)))
    return tuple(seen)


def read_text(path: str, limit: int = TEXT_LIMIT) -> bytes:
    """b"" for what isn't there, or is a folder: Mercurial has a word for it.

    Raises: StoreError past `limit` bytes, and for what has no end; UnreadableFile.
    """
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode) or _is_null(found):
            return b""
        if not stat.S_ISREG(found.st_mode):
            raise StoreError("a configuration can't be read from what isn't a file", path)
        with open(path, "rb", opener=_open_at_once) as file:
            text = file.read(limit + 1)
    except ValueError:  # a name may hold a NUL
        return b""
    except OSError as error:
        if error.errno in _NOT_THERE:
            return b""
        raise UnreadableFile(f"a configuration can't be read: {error.strerror}", path) from None
    if len(text) > limit:
        raise StoreError(f"a configuration of more than {TEXT_LIMIT} bytes", path)
    return text


def _is_null(found: os.stat_result) -> bool:
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev


def _open_at_once(path: str, flags: int) -> int:
    """Also of a FIFO that has come meanwhile."""
    return os.open(path, flags | os.O_NONBLOCK)


def _included(path: str, text: bytes) -> list[str]:
    lines = text.removeprefix(_BOM).replace(b"\r", b"\n")
    return [
        os.path.normpath(
            os.path.join(os.path.dirname(path), os.path.expanduser(os.path.expandvars(name)))
        )
        for name in (os.fsdecode(found) for found in _INCLUDE.findall(lines))
    ]
