"""What became of commits, by their keys: asked again, a key gives the first outcome.

    OUTCOMES/<key>         JSON: an intent, or the answer
    OUTCOMES/<key>.lock    locked by whoever is committing

An intent is written just before a commit, and the answer after it. Where a worker died between the
two, the intent says how the revision can be recognised.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from trunkline.errors import PeerError, StoreError

POLL_SECONDS = 0.1
BUSY = 503
LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class Intent:
    """`youngest`: the revision that was the newest by then. The rest: see `Fingerprint`."""

    youngest: int
    revprops: str
    changes: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer as it was given; texts hold bytes as Latin-1."""

    status: int
    headers: list[list[str]]
    body: str


class Held:
    """A key of which nobody else makes a commit meanwhile."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self) -> Intent | Outcome | None:
        return read(self._path)

    def write(self, value: Intent | Outcome) -> None:
        """On disk when it returns. Raises: StoreError."""
        new = self._path + ".new"
        try:
            with open(new, "w") as file:
                json.dump(asdict(value), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self._path)
        except OSError as error:
            raise StoreError(f"can't be written: {error.strerror}", self._path) from error

    def forget(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path)


class Outcomes:
    """Of one repository. Thread-safe."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def known(self, key: str) -> Outcome | None:
        found = read(self._path(key))
        return found if isinstance(found, Outcome) else None

    @contextmanager
    def hold(self, key: str, seconds: float) -> Iterator[Held]:
        """Raises: PeerError 503 when another holds it for so long; StoreError."""
        path = self._path(key)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            lock = take(path + LOCK, seconds)
        except OSError as error:
            raise StoreError(f"can't be written: {error.strerror}", path) from error
        try:
            yield Held(path)
        finally:
            os.close(lock)

    def sweep(self, before: float) -> None:
        """Forget what is older than `before` (a Unix time)."""
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            old = [one.path for one in entries if one.name.endswith(LOCK)]
        for lock in old if os.path.isdir(self._folder) else ():
            with suppress(OSError, PeerError):
                if os.stat(lock).st_mtime < before:
                    self._forget(lock)

    def _forget(self, lock: str) -> None:
        file = take(lock, 0)
        try:
            Held(lock.removesuffix(LOCK)).forget()
            os.unlink(lock)
        finally:
            os.close(file)

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, key)


def read(path: str) -> Intent | Outcome | None:
    """Raises: StoreError."""
    try:
        with open(path) as file:
            data: dict[str, Any] = json.load(file)
        return Outcome(**data) if "status" in data else Intent(**data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"can't be read: {error}", path) from error


def take(path: str, seconds: float) -> int:
    """The descriptor of a file that is locked, and still has its name.

    Raises: PeerError 503, OSError.
    """
    until = time.monotonic() + seconds
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_same(path, file):
                os.utime(file)
                return file
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(file)
                text = "this commit is still being made; ask again"
                raise PeerError(text, status=BUSY) from None
            time.sleep(POLL_SECONDS)
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def is_same(path: str, file: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False
