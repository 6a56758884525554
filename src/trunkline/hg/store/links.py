"""Nothing of a repository is read through a symlink.

Mercurial makes none among the files that we read. One that leads out of the repository would let
who may write there have files read by the server that he may not read himself.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from trunkline.errors import StoreError

# A pipe in a file's place is empty, and nobody waits for who writes into it.
READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
A_LINK: Final = "a symlink, which isn't followed here"
NO_NAMES: Final = frozenset((b"", b".", b".."))


def why(error: OSError) -> str:
    """Why a file can't be read, in words for the log."""
    return A_LINK if error.errno == errno.ELOOP else error.strerror or str(error)


def is_link(path: str) -> bool:
    """False where there is nothing."""
    return os.path.islink(path)


class Folders:
    """The folders below `root` that were seen to be no symlinks: each is looked at once.

    `descriptor` is of the open root, where there is one. May be used by many threads.
    """

    __slots__ = ("_descriptor", "_root", "_sound")

    def __init__(self, root: str, descriptor: int | None = None) -> None:
        self._root = root
        self._descriptor = descriptor
        self._sound = {b""}

    def check(self, path: bytes) -> None:
        """That a file's path, given below the root, leads through plain folders only.

        Raises: StoreError.
        """
        folder = path.rpartition(b"/")[0]
        if folder not in self._sound:
            self.check_folder(folder)

    def check_folder(self, folder: bytes) -> None:
        """That it and those it is in are plain. Raises: StoreError."""
        so_far = b""
        for name in folder.split(b"/"):
            so_far = so_far + b"/" + name if so_far else name
            if so_far in self._sound:
                continue
            where = os.path.join(self._root, os.fsdecode(so_far))
            if name in NO_NAMES:
                raise StoreError("not a path of a store", where)
            try:
                found = os.lstat(
                    where if self._descriptor is None else so_far, dir_fd=self._descriptor
                )
            except (FileNotFoundError, NotADirectoryError):
                return  # whoever opens the file is told
            except OSError as error:
                raise StoreError(f"can't look into the folder ({why(error)})", where) from None
            if stat.S_ISLNK(found.st_mode):
                raise StoreError(A_LINK, where)
            self._sound.add(so_far)
