"""The journal of a transaction that is being written: what the store was before it.

Wire:   store/journal: lines of path NUL length LF, one for each file that is appended to (or is
        about to be cut to that length by a strip), written before the file is touched; the last
        one for a path holds. store/journal.backupfiles: a line "2", then lines of place NUL path
        NUL backup NUL flag LF for files that are replaced as a whole; an empty backup: there was
        no file. Both go away, in the reverse order, when the transaction is complete or undone.
Source: hg 7.2.4, mercurial/transaction.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from trunkline.hg.store.revlog import read_whole

_LENGTH: Final = re.compile(rb"^(00changelog\.[id]|obsstore)\0(\d{1,19})$", re.MULTILINE)
# Place "" or "store" is the store, "plain" is `.hg`.
_BACKUP: Final = re.compile(
    rb"^(?:(store|)\0(phaseroots|bookmarks|00changelog\.i)|plain\0(bookmarks))\0([^\0\n]*)\0",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Journal:
    """`lengths`: of appended files. `backups`: path -> name of its backup ("": it had no file);
    a path is "phaseroots", "bookmarks" or "00changelog.i".
    """

    lengths: Mapping[str, int] = field(default_factory=dict)
    backups: Mapping[str, str] = field(default_factory=dict)


NO_JOURNAL: Final = Journal()


def read_journal(store_path: str) -> Journal:
    """Of the transaction in progress. Raises: StoreError."""
    try:
        lengths = read_whole(store_path + "/journal")
    except FileNotFoundError:
        return NO_JOURNAL
    return parse_journal(lengths, read_or_empty(store_path + "/journal.backupfiles"))


def parse_journal(lengths: bytes, backups: bytes) -> Journal:
    """A last line that isn't whole yet is of no file that has been touched."""
    return Journal(
        {
            found[1].decode(): int(found[2])
            for found in _LENGTH.finditer(lengths[: lengths.rfind(b"\n") + 1])
        },
        {
            (found[2] or found[3]).decode(): found[4].decode("utf-8", "surrogateescape")
            for found in _BACKUP.finditer(backups[: backups.rfind(b"\n") + 1])
        },
    )


def is_locked(store_path: str) -> bool:
    """Whether some Mercurial writes, or died while it wrote."""
    return os.path.lexists(store_path + "/lock")


class Touch(Enum):
    """What is being done to a file of the store."""

    NONE = "nothing"
    APPEND = "it is appended to, or cut"
    RESTORE = "it may just be put back from a backup, which isn't atomic"


def read_touch(store_path: str, path: bytes) -> Touch:
    """What is being done to one file. `path` is the plain one, `data/foo.i`.

    A transaction that is given up puts back each index that has outgrown its inline form, touched
    or not. Raises: StoreError.
    """
    line = b"\0%b\0" % path
    if line in read_or_empty(store_path + "/journal.backupfiles") or (
        is_locked(store_path) and line in read_or_empty(store_path + "/undo.backupfiles")
    ):
        return Touch.RESTORE
    is_named = b"\n%b\0" % path in b"\n" + read_or_empty(store_path + "/journal")
    return Touch.APPEND if is_named else Touch.NONE


def read_or_empty(path: str, limit: int | None = None) -> bytes:
    """A file's bytes up to `limit`; none when it isn't there. Raises: StoreError."""
    try:
        return read_whole(path, limit)
    except FileNotFoundError:
        return b""
