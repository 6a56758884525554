"""The file of tokens: changed by one at a time, and by nobody in half; and when each was used."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from trunkline.access.tokens import Tokens, format_tokens, parse_tokens
from trunkline.access.watched import read_file
from trunkline.errors import SettingsError

MODE = 0o640
USED_MODE = 0o750
USED_SECONDS = 300  # that a use may be younger than what is shown


def read_tokens(path: str) -> Tokens:
    """None at all where there is no file. Raises: SettingsError."""
    return read_file(path, parse_tokens) if os.path.lexists(path) else Tokens()


def change_tokens(path: str, change: Callable[[Tokens], Tokens]) -> None:
    """Owner, group and mode stay as they are; a new file has those of its folder.

    Raises: SettingsError.
    """
    try:
        with locked(path):
            replace_file(path, format_tokens(change(read_tokens(path))))
            make_used_folder(path)
    except OSError as error:
        raise SettingsError(f"{error.filename or path}: {error.strerror}") from None


@contextmanager
def locked(path: str) -> Iterator[None]:
    """By a file of its own: the other one is replaced."""
    descriptor = os.open(path + ".lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: str, data: bytes) -> None:
    """Whole or not at all, whatever ends us in between."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    descriptor, unfinished = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            belong(descriptor, path, folder)
            os.fsync(descriptor)
        os.rename(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
    flush_folder(folder)


def belong(descriptor: int, path: str, folder: str) -> None:
    """To whom the file before belonged; the server must be able to read what root has made."""
    try:
        like, mode = os.stat(path), None
    except FileNotFoundError:
        like, mode = os.stat(folder), MODE
    with suppress(PermissionError):  # not root's privilege: it stays ours
        os.fchown(descriptor, like.st_uid, like.st_gid)
    os.fchmod(descriptor, like.st_mode & 0o777 if mode is None else mode)


def flush_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def used_folder(path: str) -> str:
    return path + ".used"


def make_used_folder(path: str) -> None:
    """For the server to write to, which needs no right to change the tokens themselves."""
    folder = used_folder(path)
    if os.path.isdir(folder):
        return
    os.mkdir(folder, USED_MODE)
    like = os.stat(path)
    with suppress(PermissionError):
        os.chown(folder, like.st_uid, like.st_gid)


class Uses:
    """Notes when tokens are used, as times of empty files. A folder that isn't there, or isn't
    ours to write to, costs the note and nothing else.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = used_folder(path)
        self._clock = clock
        self._noted: dict[str, float] = {}  # by ids of tokens, which only operators make

    def note(self, name: str) -> None:
        now = self._clock()
        noted = self._noted.get(name)
        if noted is not None and now < noted + USED_SECONDS:
            return
        self._noted[name] = now
        path = os.path.join(self._folder, name)
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, MODE))
            os.utime(path)


def last_use(path: str, name: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(os.stat(os.path.join(used_folder(path), name)).st_mtime, UTC)
    except OSError:
        return None


def forget_use(path: str, name: str) -> None:
    with suppress(OSError):
        os.unlink(os.path.join(used_folder(path), name))
