"""Files that are whole already, sent in large pieces: open once for all who read them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

from trunkline.errors import StoreError
from trunkline.http.follow import Followed, Following
from trunkline.http.threads import Threads
from trunkline.reply import Span
from trunkline.spool.outgoing import copy_out
from trunkline.spool.place import open_place
from trunkline.spool.reading import Look
from trunkline.spool.stage import Stage
from trunkline.spool.uses import Use

THREADS = 4  # they only open and read
READ_ONLY = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW  # links were followed before


class WholeFile:
    """For any number of threads. `use`: who makes room leaves it as long as that is held."""

    def __init__(self, path: str, use: Use | None = None) -> None:
        """Raises: StoreError."""
        self._path = path
        self._use = use
        self._lock = Lock()
        try:
            self._descriptor = os.open(path, READ_ONLY)
        except OSError as error:
            raise StoreError(f"can't be opened: {error.strerror}", path) from error
        found = os.fstat(self._descriptor)
        self._size, self._inode = found.st_size, found.st_ino

    def is_current(self) -> bool:
        """It still has its name. To be asked once for each request."""
        if self._use is not None:
            self._use.count()
        try:
            return os.stat(self._path).st_ino == self._inode
        except OSError:
            return False

    def look(self) -> Look:
        return Look(self._size, Stage.WHOLE)

    def read(self, offset: int, size: int) -> bytes:
        """Raises: StoreError."""
        try:
            with self._open() as mine:
                data = os.pread(mine, size, offset)
        except OSError as error:
            raise StoreError(f"can't be read: {error.strerror}", self._path, offset) from error
        if not data:
            raise StoreError("has become shorter", self._path, offset)
        return data

    def send_to(self, connection: int, offset: int, size: int, may_wait: bool) -> int | None:
        """As `copy_out`."""
        with self._open() as mine:
            return copy_out(connection, mine, self._path, offset, size, may_wait)

    @contextmanager
    def _open(self) -> Iterator[int]:
        """A descriptor for as long as it is needed, whoever closes ours. Raises: OSError."""
        with self._lock:
            mine = os.dup(self._descriptor)
        try:
            yield mine
        finally:
            os.close(mine)

    def close(self) -> None:
        with self._lock:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._use is not None:
            self._use.close()


class WholeFiles:
    """One for each worker; made, and asked, in the loop that uses it. `shelf`: the folder whose
    files' uses are counted; "" for none.
    """

    def __init__(self, shelf: str) -> None:
        self._shelf = shelf
        self._threads = Threads(THREADS, "file")
        self._open: dict[str, Followed[WholeFile]] = {}

    async def begin(self, span: Span) -> Following:
        """Raises: StoreError."""
        file = self._open.get(span.path)
        if file is not None:
            file.readers += 1
            if not await self._threads.run(file.reading.is_current):
                file.release()
                file = None
        if file is None:
            file = self._follow(span.path, await self._threads.run(self._open_file, span.path))
        length = (b"content-length", b"%d" % span.size)
        end = span.offset + span.length
        return Following(file, [length], span.offset, end, span.head)

    def _follow(self, path: str, opened: WholeFile) -> Followed[WholeFile]:
        """Handed out: to be released."""
        file = Followed(opened, self._threads, lambda: self._closed(path, file))
        file.look = opened.look()
        file.readers = 1
        self._open[path] = file
        return file

    def _open_file(self, path: str) -> WholeFile:
        folder, name = os.path.split(path)
        use = None
        if folder == self._shelf:
            with suppress(OSError, StoreError):  # it is only counted
                use = Use(open_place(folder), name.partition(".")[0])
                use.count()
        return WholeFile(path, use)

    def _closed(self, path: str, file: Followed[WholeFile]) -> None:
        if self._open.get(path) is file:
            del self._open[path]

    def close(self) -> None:
        self._threads.close()
