"""A spool file on its readers' side: one for a process, whatever the number of its readers."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from trunkline.errors import StoreError
from trunkline.spool.lease import Sign, Watch
from trunkline.spool.outgoing import copy_out
from trunkline.spool.place import Place
from trunkline.spool.stage import Stage, stage_of
from trunkline.spool.uses import Use

READ_ONLY = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Look:
    """`is_dead`: it grows no more, and its maker can't say why."""

    size: int
    stage: Stage
    is_dead: bool = False

    @property
    def is_over(self) -> bool:
        return self.stage is not Stage.GROWING or self.is_dead

    @property
    def is_whole(self) -> bool:
        return self.stage is Stage.WHOLE


class Reading:
    """For any number of threads.

    Nothing is shown of a NAME.part until its maker was seen alive: it may be what a crash has left.
    One that is found whole is shown as growing as long as its maker isn't done with it: after a
    power cut, some of it might not be on the disk.
    """

    def __init__(self, place: Place, name: str, descriptor: int, use: Use, is_kept: bool) -> None:
        self._place = place
        self._name = name
        self._descriptor = descriptor
        self._use = use
        self._watch = Watch(descriptor, place.is_local)
        self._is_trusted = is_kept  # if it is whole
        self._is_shown = is_kept
        self._looking = Lock()
        self._lock = Lock()
        self._users = 1  # who must have left before the descriptors are given back
        found = os.fstat(descriptor)
        self.inode = found.st_ino
        self.etag = b""

    def look(self) -> Look:
        """Raises: OSError."""
        with self._open(), self._looking:
            return self._look()

    def _look(self) -> Look:
        self._use.renew()
        found = os.fstat(self._descriptor)
        stage = stage_of(found)
        if stage is Stage.WHOLE:
            self._is_trusted = self._is_trusted or self._is_kept()
            if self._is_trusted:
                self.etag = b'"%s-%x-%x"' % (self._name.encode(), self.inode, found.st_mtime_ns)
                return Look(found.st_size, stage)
            stage = Stage.GROWING
        if stage is Stage.FAILED:
            return Look(found.st_size, stage)
        sign = self._watch.look(found)
        if sign is Sign.DEAD and stage_of(os.fstat(self._descriptor)) is not stage_of(found):
            return self._look()  # it ended well, between our two questions
        if sign is Sign.ALIVE:
            self._is_shown = True
            # Who sees it become whole knows that its bytes are what was written.
            self._is_trusted = self._is_trusted or stage_of(found) is Stage.GROWING
        return Look(found.st_size if self._is_shown else 0, stage, sign is Sign.DEAD)

    def _is_kept(self) -> bool:
        try:
            return os.stat(self._place.whole(self._name)).st_ino == self.inode
        except OSError:
            return False

    def count(self) -> None:
        """One more request. Raises: OSError."""
        with self._open():
            self._use.count()

    def read(self, offset: int, size: int) -> bytes:
        """Bytes that a look has shown. Raises: StoreError."""
        path = self._place.part(self._name)
        try:
            with self._open():
                self._use.renew()
                data = os.pread(self._descriptor, size, offset)
        except OSError as error:
            raise StoreError(f"can't be read: {error.strerror}", path, offset) from error
        if not data:
            raise StoreError("has become shorter", path, offset)
        return data

    def send_to(self, connection: int, offset: int, size: int, may_wait: bool) -> int | None:
        """As `copy_out`, of bytes that a look has shown."""
        path = self._place.part(self._name)
        with self._open():
            self._use.renew()
            return copy_out(connection, self._descriptor, path, offset, size, may_wait)

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Raises: OSError when it is closed."""
        with self._lock:
            if not self._users:
                raise OSError(errno.EBADF, "is closed")
            self._users += 1
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
        os.close(self._descriptor)
        self._use.close()

    def close(self) -> None:
        """Once. A thread that reads meanwhile may end in peace."""
        self._leave()


def open_reading(place: Place, name: str) -> Reading | None:
    """None: there is none. Raises: OSError for any other reason."""
    paths = (place.whole(name), place.part(name), place.whole(name))  # it may just be renamed
    for path in paths:
        try:
            descriptor = os.open(path, READ_ONLY)
        except FileNotFoundError:
            continue
        try:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "belongs to another account", path)
            is_kept = path == place.whole(name) and stage_of(found) is Stage.WHOLE
            return Reading(place, name, descriptor, Use(place, name), is_kept)
        except BaseException:
            os.close(descriptor)
            raise
    return None
