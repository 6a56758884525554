"""Whether files have moved: what `stat` says of each, compared."""

from __future__ import annotations

import os
from typing import NamedTuple


class Stamp(NamedTuple):
    """A file at a moment. Mercurial moves the mtime on when it replaces a file by one of the same
    size within a tick of the clock (`checkambig`), so two contents don't share a stamp.

    Units: bytes; nanoseconds since 1970.
    """

    inode: int
    size: int
    mtime: int


def read_inode(path: str) -> int | None:
    """Of a folder that may be replaced as a whole, or of the symlink there. None: nothing there."""
    try:
        return os.lstat(path).st_ino
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_stamp(path: str) -> Stamp | None:
    """None: no such file."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)
