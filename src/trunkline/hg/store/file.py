"""Files of a repository as bytes: at offsets, or whole. No symlink is followed."""

from __future__ import annotations

import os
from typing import Final

from trunkline.errors import StoreError
from trunkline.hg.store.links import READ, why

FIRST_READ: Final = 1 << 16  # bytes; most files are shorter, and cost one read


class DataFile:
    """The bytes of a `.d` file (or of a large inline `.i`), opened when first read."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = -1

    def read(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes. Raises: StoreError when they aren't there."""
        try:
            if self._descriptor < 0:
                self._open()
            data = os.pread(self._descriptor, length, offset)
            while 0 < len(data) < length:
                more = os.pread(self._descriptor, length - len(data), offset + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise StoreError(f"can't read ({why(error)})", self.path, offset) from None
        if len(data) != length:
            raise StoreError(f"{length} bytes wanted, {len(data)} there", self.path, offset)
        return data

    def is_there(self) -> bool:
        """Whether there is a file; it stays open. Raises: StoreError for one that can't be read."""
        try:
            if self._descriptor < 0:
                self._open()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StoreError(f"can't read ({why(error)})", self.path) from None
        return True

    def _open(self) -> None:
        descriptor = os.open(self.path, READ)
        if self._descriptor < 0:
            self._descriptor = descriptor
        else:  # another thread was faster
            os.close(descriptor)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


def read_whole(path: str, limit: int | None = None) -> bytes:
    """A file's bytes, up to `limit`. Raises: FileNotFoundError, StoreError."""
    try:
        descriptor = os.open(path, READ)
        try:
            length = FIRST_READ if limit is None else min(limit, FIRST_READ)
            data = os.read(descriptor, length)
            return data if len(data) < length else data + read_rest(descriptor, length, limit)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise StoreError(f"can't read ({why(error)})", path) from None


def read_rest(descriptor: int, done: int, limit: int | None) -> bytes:
    """What follows the first `done` bytes, up to `limit` bytes of the file."""
    end = os.fstat(descriptor).st_size if limit is None else limit
    parts = []
    while done < end and (part := os.read(descriptor, end - done)):
        parts.append(part)
        done += len(part)
    return b"".join(parts)
