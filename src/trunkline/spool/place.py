"""The spool's folder: private, and of what kind.

Holds:  NAME.part, being made; NAME.whole; NAME.uses, a byte for each request; slots, see `slots`;
        clock, touched to read the time of the file system.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trunkline.errors import StoreError

FOLDER_MODE = 0o700
FILE_MODE = 0o600
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

# A `flock` on these is seen by every process that can see the file. Others may be shared with
# machines that don't see it.
LOCAL_TYPES = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})
MOUNTS = "/proc/self/mountinfo"


@dataclass(frozen=True, slots=True)
class Place:
    """`is_local`: locks are seen by all who read and write here."""

    folder: str
    is_local: bool

    def part(self, name: str) -> str:
        return f"{self.folder}/{name}.part"

    def whole(self, name: str) -> str:
        return f"{self.folder}/{name}.whole"

    def uses(self, name: str) -> str:
        return f"{self.folder}/{name}.uses"

    def now(self) -> float:
        """The file system's own time, which file times may be compared with. Raises: OSError."""
        path = f"{self.folder}/clock"
        with open(
            os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE), "rb"
        ) as file:
            os.utime(file.fileno())
            return os.fstat(file.fileno()).st_mtime


def open_place(folder: str) -> Place:
    """Makes the folder. Raises: StoreError where it can't be used, or isn't ours alone to write."""
    try:
        if not os.path.isdir(folder):
            os.makedirs(os.path.dirname(folder) or ".", exist_ok=True)
            os.mkdir(folder, FOLDER_MODE)
    except FileExistsError:
        pass  # made by another process meanwhile
    except OSError as error:
        raise StoreError(f"can't be made: {error.strerror}", folder) from error
    try:
        named, found = os.lstat(folder), os.stat(folder)
    except OSError as error:
        raise StoreError(f"can't be looked at: {error.strerror}", folder) from error
    if not stat.S_ISDIR(found.st_mode):
        raise StoreError("isn't a folder", folder)
    if found.st_uid != os.geteuid() or found.st_mode & WRITABLE_BY_OTHERS or is_planted(named):
        raise StoreError("belongs to others, or others may write to it", folder)
    return Place(os.path.realpath(folder), is_local(folder))


def is_planted(named: os.stat_result) -> bool:
    """A symlink of another account's, which may lead to any folder of ours."""
    return stat.S_ISLNK(named.st_mode) and named.st_uid not in (0, os.geteuid())


def default_folder(environment: Mapping[str, str], name: str = "spool") -> str:
    """systemd's CacheDirectory=, the user's cache, or the folder for temporary files."""
    given = environment.get("CACHE_DIRECTORY", "").partition(":")[0]
    if given:
        return f"{given}/{name}"
    cache = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache) and environment.get("HOME"):
        cache = environment["HOME"] + "/.cache"
    if os.path.isabs(cache):
        return f"{cache}/trunkline/{name}"
    return f"{tempfile.gettempdir()}/trunkline-{name}-{os.geteuid()}"


def is_local(folder: str, mounts: str = MOUNTS) -> bool:
    """False where it can't be known."""
    try:
        lines = Path(mounts).read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False
    path, found, kind = os.path.realpath(folder) + "/", "", ""
    for line in lines:
        left, _, right = line.partition(" - ")
        mounted = unescape(left.split()[4]).rstrip("/") + "/"
        if path.startswith(mounted) and len(mounted) >= len(found):  # a later one lies above
            found, kind = mounted, right.split()[0]
    return kind in LOCAL_TYPES


def unescape(text: str) -> str:
    """Source: proc_pid_mountinfo(5); white space is written in octal."""
    for char in " \t\n\\":
        text = text.replace(f"\\{ord(char):03o}", char)
    return text
