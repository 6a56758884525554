"""The store's folder held open, so that what is read later comes from the same store.

An upgrade of a repository (`hg debugupgraderepo`) moves a whole new store to the old one's path;
names below the open folder keep meaning the files that were listed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from trunkline.errors import StoreError
from trunkline.hg.store import links
from trunkline.hg.store.links import Folders, why

READ: Final = links.READ
CHANGELOG: Final = b"00changelog.i"
JOURNAL: Final = b"journal"


class StoreState(NamedTuple):
    """What moves when a transaction starts or ends: two equal states without a journal mean that
    none was at work between them.

    Units: nanoseconds; `changelog` is inode, bytes, mtime and ctime, or None when there is none.
    """

    folder_mtime: int
    changelog: tuple[int, int, int, int] | None
    is_journal_there: bool


class StoreFolder:
    """Holds: one file descriptor, until nobody refers to the object."""

    __slots__ = ("descriptor", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor = -1
        try:
            self.descriptor = os.open(path, READ | os.O_DIRECTORY)
        except OSError as error:
            raise StoreError(f"can't open ({why(error)})", path) from None

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def open(self, name: bytes) -> int:
        """A descriptor to read from. Raises: FileNotFoundError and other OSError."""
        return os.open(name, READ, dir_fd=self.descriptor)

    def stat(self, name: bytes) -> os.stat_result | None:
        """None when there is no such file. Raises: StoreError."""
        try:
            return os.stat(name, dir_fd=self.descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self.fault(name, error) from None

    def read(self, name: bytes) -> bytes | None:
        """A whole small file; None when there is none. Raises: StoreError."""
        try:
            with open(self.open(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.fault(name, error) from None

    def refuse_links(self, paths: Iterable[bytes]) -> None:
        """None of these files stands behind a symlink. Raises: StoreError."""
        folders = Folders(self.path, self.descriptor)
        for folder in {path.rpartition(b"/")[0] for path in paths}:
            folders.check_folder(folder)

    def state(self) -> StoreState:
        changelog = self.stat(CHANGELOG)
        return StoreState(
            os.fstat(self.descriptor).st_mtime_ns,
            None
            if changelog is None
            else (
                changelog.st_ino,
                changelog.st_size,
                changelog.st_mtime_ns,
                changelog.st_ctime_ns,
            ),
            self.stat(JOURNAL) is not None,
        )

    def journal(self) -> dict[bytes, int]:
        """Name -> length before the transaction (bytes), of what the running one appends to.

        Names are the unencoded ones. Where one is listed again, the last length holds.
        Wire: name NUL decimal LF; a line that is still being written has no LF.
        """
        data = self.read(JOURNAL) or b""
        lengths: dict[bytes, int] = {}
        for line in data.split(b"\n")[:-1]:
            name, _, length = line.partition(b"\0")
            if length.isdigit() and len(length) < 20:
                lengths[name] = int(length)
        return lengths

    def fault(self, name: bytes, error: OSError) -> StoreError:
        return StoreError(f"can't read ({why(error)})", self.join(name))

    def join(self, name: bytes) -> str:
        return os.path.join(self.path, os.fsdecode(name))


@dataclass(slots=True)
class Files:
    """Files of revlogs as columns, one row a file: 10^5 small objects would cost more than the
    reading. `names` are the store's own, `paths` the encoded ones below the folder.

    A revlog is one row (INLINE) or two, DATA and then INDEX, in this order as Mercurial's own
    streams have it: a clone that breaks between them leaves data that no index refers to.
    """

    names: list[bytes] = field(default_factory=list)
    paths: list[bytes] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)

    def add(self, name: bytes, path: bytes, size: int, kind: int) -> None:
        self.names.append(name)
        self.paths.append(path)
        self.sizes.append(size)
        self.kinds.append(kind)

    def extend(self, files: Files) -> None:
        self.names += files.names
        self.paths += files.paths
        self.sizes += files.sizes
        self.kinds += files.kinds


DATA: Final = 0
INLINE: Final = 1
INDEX: Final = 2
