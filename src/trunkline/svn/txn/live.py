"""libsvn's transactions that commit streams fill just now: what a dead worker left is removed.

LIVE/<name>    locked as long as somebody fills the transaction of this name
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from trunkline.errors import PeerError, StoreError
from trunkline.svn.txn.outcome import take

NEW = ".new-"


class Live:
    """Of one repository. Thread-safe. `purge(name)` removes a transaction, if it is there."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @contextmanager
    def filling(self, name: bytes) -> Iterator[None]:
        """Raises: StoreError."""
        path = os.path.join(self._folder, os.fsdecode(name))
        new = os.path.join(self._folder, NEW + os.fsdecode(name))
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            file = take(new, 0)
            os.rename(new, path)  # locked already when others see it
        except OSError as error:
            raise StoreError(f"can't be written: {error.strerror}", path) from error
        try:
            yield
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)
            os.close(file)

    def sweep(self, purge: Callable[[bytes], None]) -> None:
        """Those that nobody fills."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return
        for name in names:
            if name.startswith(NEW):
                continue
            path = os.path.join(self._folder, name)
            with suppress(OSError, PeerError):
                file = take(path, 0)
                try:
                    purge(os.fsencode(name))
                    os.unlink(path)
                finally:
                    os.close(file)
