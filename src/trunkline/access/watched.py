"""A file that is read again when it is another one, and never half."""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from trunkline.errors import SettingsError

log = logging.getLogger(__name__)

Value = TypeVar("Value")
Signature = tuple[int, ...]

FILE_LIMIT = 16 * 1024 * 1024  # bytes; 200,000 users
# A file that was written so lately may be written again without a new time stamp.
SETTLED_SECONDS = 0.1


class Watched(Generic[Value]):
    """What a file means, by `read`, which raises SettingsError for a broken one. Thread-safe.

    A look costs one stat. A file that breaks, or goes, leaves what it meant before in force, and
    is logged once.
    """

    def __init__(self, path: str, read: Callable[[bytes], Value]) -> None:
        """Raises: SettingsError: at the start there is nothing to fall back on."""
        self.path = path
        self._read = read
        self._lock = Lock()
        self._told = ""
        self._signature: Signature | None = sign(path)
        self._value = read_file(path, read)

    def get(self) -> Value:
        signature = sign(self.path)
        if signature is not None and signature == self._signature:
            return self._value
        with self._lock:
            if signature is None or signature != self._signature:
                self._refresh(signature)
            return self._value

    def _refresh(self, signature: Signature | None) -> None:
        try:
            self._value = read_file(self.path, self._read)
        except SettingsError as error:
            if error.text != self._told:
                log.error("%s; what it said before stays in force", error.text)
            self._told = error.text
        else:
            self._told = ""
        self._signature = signature


def sign(path: str) -> Signature | None:
    """Equal for the same state of the same file; None for what must be read to know."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ()
    if abs(time.time() - found.st_ctime) < SETTLED_SECONDS:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


def read_file(path: str, read: Callable[[bytes], Value]) -> Value:
    """Raises: SettingsError, one line that names the file."""
    try:
        with open(path, "rb", opener=open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(f"{path}: not a file")
            data = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    if len(data) > FILE_LIMIT:
        raise SettingsError(f"{path}: more than {FILE_LIMIT} bytes")
    try:
        return read(data)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error.text}") from None


def open_at_once(path: str, flags: int) -> int:
    """Also a FIFO that nobody writes to."""
    return os.open(path, flags | os.O_NONBLOCK)
