"""A spool file on its maker's side."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Lock

from trunkline.spool.claim import remove
from trunkline.spool.place import Place
from trunkline.spool.stage import Stage, set_stage


class Writer:
    """Of a file that was claimed. `fail` may come from another thread."""

    def __init__(self, place: Place, name: str, descriptor: int) -> None:
        self._place = place
        self._name = name
        self._descriptor = descriptor
        self._lock = Lock()
        self._is_ended = False
        self.size = 0

    def write(self, block: bytes) -> None:
        """Raises: OSError."""
        left = memoryview(block)
        while left:
            left = left[os.write(self._descriptor, left) :]
        self.size += len(block)

    def renew(self) -> None:
        """See `lease`."""
        with suppress(OSError):
            os.utime(self._descriptor)

    def finish(self) -> None:
        """Those who follow have it all at once; those who come later only what is on the disk.

        Raises: OSError.
        """
        with self._lock:
            if self._is_ended:
                return
            set_stage(self._descriptor, Stage.WHOLE)
            self._is_ended = True
        os.fdatasync(self._descriptor)
        part = self._place.part(self._name)
        with suppress(FileNotFoundError):  # the folder was deleted, or we were thought dead
            if os.stat(part).st_ino == os.fstat(self._descriptor).st_ino:
                os.rename(part, self._place.whole(self._name))

    def fail(self) -> bool:
        """False: it was whole already."""
        with self._lock:
            if self._is_ended:
                return False
            self._is_ended = True
            with suppress(OSError):
                set_stage(self._descriptor, Stage.FAILED)
        with suppress(OSError):
            remove(self._place.part(self._name), os.fstat(self._descriptor).st_ino)
        return True
