"""Where commits are put together: one folder on disk for all workers.

    AREA/<repository>.outcomes            see `outcome.py`
    AREA/<repository>.live                see `live.py`
    AREA/<repository>/<transaction>/head      what it began with, JSON
                                    journal   what was asked since, one JSON array a line
                                    bodies    short bodies of PUTs, one after the other
                                    b-*       longer ones, as they came

Each line of the journal is appended under a lock, so any number of workers may write. What nobody
touched for `hours` goes when a new transaction begins.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from trunkline.errors import PeerError, StoreError
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.error import SvnError
from trunkline.svn.txn.live import Live
from trunkline.svn.txn.outcome import Outcomes

NAME = re.compile(rb"^[A-Za-z0-9._~@:+-]{1,200}$")
RECORDS_LIMIT = 10_000_000  # of one transaction
SWEEP_SECONDS = 600
BLOCK = 1024 * 1024  # bytes of a body read at once
# Bytes of a body. A file for each costs more than all else of a PUT, and ext4 looks at every file
# that was removed within the last seconds before it makes one.
SHORT_BODY = 64 * 1024
SHORT = re.compile(r"s-(\d+)-(\d+)")

Record = list[Any]


def pack(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def unpack(value: str | None) -> bytes | None:
    return None if value is None else b64decode(value)


@dataclass(frozen=True, slots=True)
class Head:
    """`user` may go on with it, and nobody else. `base` is the revision that it changes."""

    base: int
    user: bytes | None


class Area:
    """Thread-safe."""

    def __init__(self, root: str, hours: float = 48) -> None:
        self._root = root
        self._hours = hours
        self._swept = 0.0
        self._forgot: dict[str, float] = {}

    def of(self, path: bytes, uuid: bytes) -> Transactions:
        """Those of one repository."""
        return Transactions(self._folder(path, uuid), self._sweep)

    def outcomes(self, path: bytes, uuid: bytes) -> Outcomes:
        """Of the commit streams of one repository. What is too old goes first."""
        folder = self._folder(path, uuid) + ".outcomes"
        found = Outcomes(folder)
        now = time.time()
        if now - self._forgot.get(folder, 0.0) >= SWEEP_SECONDS:
            self._forgot[folder] = now
            found.sweep(now - self._hours * 3600)
        return found

    def live(self, path: bytes, uuid: bytes) -> Live:
        """The commit streams of one repository that are coming in."""
        return Live(self._folder(path, uuid) + ".live")

    def _folder(self, path: bytes, uuid: bytes) -> str:
        mark = hashlib.sha256(path).hexdigest()[:16]
        return os.path.join(self._root, f"{uuid.decode()}-{mark}")

    def _sweep(self, folder: str) -> None:
        now = time.time()
        if now - self._swept < SWEEP_SECONDS:
            return
        self._swept = now
        sweep(folder, now - self._hours * 3600)


def sweep(folder: str, before: float) -> None:
    """Throw away transactions that nothing was added to since `before` (a Unix time)."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if max(entry.stat().st_mtime, journal_time(entry.path)) < before:
                    shutil.rmtree(entry.path, ignore_errors=True)


def journal_time(path: str) -> float:
    try:
        return os.stat(path + "/journal").st_mtime
    except OSError:
        return 0.0


class Transactions:
    def __init__(self, folder: str, sweep_folder: Any) -> None:
        self._folder = folder
        self._sweep = sweep_folder

    def names(self) -> list[bytes]:
        try:
            return sorted(os.fsencode(name) for name in os.listdir(self._folder))
        except FileNotFoundError:
            return []

    def create(self, base: int, user: bytes | None, name: bytes | None = None) -> Stored:
        """Raises: PeerError for a name that is in use, or is none."""
        if name is None:
            name = b"%d-%s" % (base, secrets.token_hex(8).encode())
        stored = Stored(self._path(name), name)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._sweep(self._folder)
            stored.make(Head(base, user))
        except FileExistsError:
            raise PeerError("a transaction of this name is there already", status=405) from None
        except OSError as error:
            raise StoreError(f"can't be written: {error.strerror}", self._folder) from error
        return stored

    def open(self, name: bytes, user: bytes | None) -> Stored:
        """Raises: SvnError for none, and for one of somebody else's."""
        stored = Stored(self._path(name), name)
        head = stored.head()
        if head.user != user:
            raise SvnError(codes.UNSUPPORTED_FEATURE, "Multi-author commits not supported.")
        return stored

    def _path(self, name: bytes) -> str:
        if not NAME.match(name) or name.startswith(b"."):
            raise PeerError("not a name of a transaction", status=404)
        return os.path.join(self._folder, name.decode())


class Stored:
    """One transaction on disk."""

    def __init__(self, path: str, name: bytes) -> None:
        self.path = path
        self.name = name
        self._head: Head | None = None

    def make(self, head: Head) -> None:
        """Raises: FileExistsError."""
        os.mkdir(self.path, 0o700)
        with open(self.path + "/head.new", "w") as file:
            json.dump({"base": head.base, "user": pack(head.user)}, file)
        os.rename(self.path + "/head.new", self.path + "/head")

    def head(self) -> Head:
        if self._head is None:
            try:
                with open(self.path + "/head") as file:
                    data = json.load(file)
            except FileNotFoundError:
                raise self.gone() from None
            self._head = Head(data["base"], unpack(data["user"]))
        return self._head

    def gone(self) -> SvnError:
        text = f"No transaction named '{self.name.decode('latin-1')}'"
        return SvnError(codes.FS_NO_SUCH_TRANSACTION, text)

    def append(self, record: Record) -> None:
        line = json.dumps(record).encode() + b"\n"
        try:
            with open(self.path + "/journal", "ab", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(line)
        except FileNotFoundError:
            raise self.gone() from None

    def read(self, offset: int) -> tuple[list[Record], int]:
        """Whole lines from a byte of the journal on, and where they end."""
        try:
            with open(self.path + "/journal", "rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return [], offset
        end = data.rfind(b"\n") + 1
        return [json.loads(line) for line in data[:end].splitlines()], offset + end

    def spool(self, blocks: Iterable[bytes]) -> str:
        """A body, kept; its name. Nothing stays of one that breaks off."""
        coming, held, size = iter(blocks), [], 0
        for block in coming:
            held.append(block)
            size += len(block)
            if size > SHORT_BODY:
                return self._spool_alone(chain(held, coming))
        return self._spool_short(b"".join(held))

    def _spool_short(self, body: bytes) -> str:
        try:
            with open(self.path + "/bodies", "ab", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                offset = file.seek(0, os.SEEK_END)
                file.write(body)
        except FileNotFoundError:
            raise self.gone() from None  # removed since it was found
        return f"s-{offset}-{len(body)}"

    def _spool_alone(self, blocks: Iterable[bytes]) -> str:
        name = "b-" + secrets.token_hex(8)
        path = os.path.join(self.path, name)
        try:
            with open(path, "xb") as file:
                for block in blocks:
                    file.write(block)
        except FileNotFoundError:
            raise self.gone() from None
        except BaseException:
            with suppress(OSError):
                os.unlink(path)
            raise
        return name

    def forget_body(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(os.path.join(self.path, name))

    def body_path(self, name: str) -> str:
        """A file of its own, for libsvn."""
        path = os.path.join(self.path, name)
        if SHORT.fullmatch(name) and not os.path.exists(path):
            part = path + "-" + secrets.token_hex(4)  # others may make it, too
            with open(part, "xb") as file:
                file.writelines(self.body(name))
            os.rename(part, path)
        return path

    def body(self, name: str) -> Iterator[bytes]:
        short = SHORT.fullmatch(name)
        path = "bodies" if short else name
        try:
            with open(os.path.join(self.path, path), "rb", buffering=0) as file:
                if short:
                    yield os.pread(file.fileno(), int(short[2]), int(short[1]))
                    return
                while block := file.read(BLOCK):
                    yield block
        except FileNotFoundError:
            raise self.gone() from None

    def remove(self) -> None:
        """At once for everybody: its name goes first."""
        gone = self.path + ".gone-" + secrets.token_hex(4)
        try:
            os.rename(self.path, gone)
        except FileNotFoundError:
            raise self.gone() from None
        shutil.rmtree(gone, ignore_errors=True)
