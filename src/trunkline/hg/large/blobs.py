"""File contents that stand beside the history, each under the name of its own digest.

A file is written under another name and renamed, so what has its name is whole. Whoever reads one
is told by the digest whether it still is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trunkline.errors import PeerError, StoreError
from trunkline.hg.store.links import READ, why

READ_SIZE = 512 * 1024  # bytes at once
CORRUPT = 422  # HTTP: what was sent isn't what was announced


@dataclass(frozen=True, slots=True)
class Blob:
    """Units: bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Blobs:
    """Of one repository. `folder` is its own, `cache` what its user's repositories share, "" for
    none; `model`: whose permissions a new file gets. `is_split`: the first two letters of a name
    are a folder.
    """

    folder: str
    cache: str
    model: str
    digest: str
    is_split: bool

    def is_name(self, name: str) -> bool:
        length = hashlib.new(self.digest).digest_size * 2
        return re.fullmatch(rf"[0-9a-f]{{{length}}}", name) is not None

    def find(self, name: str) -> Blob | None:
        """Raises: StoreError for one that is there and can't be read."""
        for folder in filter(None, (self.folder, self.cache)):
            path = self._path(folder, name)
            try:
                descriptor = os.open(path, READ | os.O_NONBLOCK)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise StoreError(f"can't be opened ({why(error)})", path) from error
            try:
                found = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            if stat.S_ISREG(found.st_mode):
                return Blob(path, found.st_size)
        return None

    def read(self, name: str, blob: Blob) -> Iterator[bytes]:
        """The last block comes when all are known to be right.

        Raises: StoreError where the file isn't what its name says.
        """
        hasher, left, held = hashlib.new(self.digest), blob.size, b""
        descriptor = self._open(blob)
        try:
            while left and (data := os.read(descriptor, min(left, READ_SIZE))):
                if held:
                    yield held
                hasher.update(data)
                left -= len(data)
                held = data
        except OSError as error:
            raise StoreError(f"can't be read ({why(error)})", blob.path) from error
        finally:
            os.close(descriptor)
        if left or hasher.hexdigest() != name:
            raise StoreError("a large file that isn't what its name says", blob.path)
        if held:
            yield held

    def is_sound(self, name: str, blob: Blob, look: Callable[[], object]) -> bool:
        """Reads all of it; `look` is called now and then."""
        try:
            for _ in self.read(name, blob):
                look()
        except StoreError:
            return False
        return True

    def receive(self, name: str, blocks: Iterator[bytes]) -> None:
        """All of `blocks` or nothing. Raises: PeerError 422 where they aren't what the name says;
        StoreError; what the blocks raise.
        """
        target = self._path(self.folder, name)
        try:
            self._make_folder(os.path.dirname(target))
            descriptor, unfinished = tempfile.mkstemp(prefix=".", dir=os.path.dirname(target))
        except OSError as error:
            raise cant_write(error, target) from error
        try:
            with os.fdopen(descriptor, "wb", READ_SIZE) as file:
                self._copy(name, blocks, file.write)
                os.fchmod(descriptor, self._mode() & 0o666)
            os.rename(unfinished, target)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            if isinstance(error, OSError):
                raise cant_write(error, target) from error
            raise
        self._share(name, target)

    def adopt(self, name: str, blob: Blob) -> None:
        """See to it that the repository has one that may be in the cache only."""
        target = self._path(self.folder, name)
        if blob.path == target:
            return
        try:
            self._make_folder(os.path.dirname(target))
            os.link(blob.path, target)
        except FileExistsError:
            return
        except OSError:
            self.receive(name, self.read(name, blob))

    def _copy(self, name: str, blocks: Iterator[bytes], write: Callable[[bytes], object]) -> None:
        hasher = hashlib.new(self.digest)
        for block in blocks:
            hasher.update(block)
            write(block)
        if hasher.hexdigest() != name:
            raise PeerError("the contents don't match their name", status=CORRUPT)

    def _share(self, name: str, path: str) -> None:
        """A second name for it in the cache, where that can be had: nothing depends on it."""
        if self.cache:
            shared = self._path(self.cache, name)
            with contextlib.suppress(OSError):
                os.makedirs(os.path.dirname(shared), exist_ok=True)
                os.link(path, shared)

    def _path(self, folder: str, name: str) -> str:
        assert self.is_name(name)
        return os.path.join(folder, name[:2], name[2:]) if self.is_split else f"{folder}/{name}"

    def _open(self, blob: Blob) -> int:
        try:
            return os.open(blob.path, READ | os.O_NONBLOCK)
        except OSError as error:
            raise StoreError(f"can't be opened ({why(error)})", blob.path) from error

    def _mode(self) -> int:
        return os.stat(self.model).st_mode & 0o7777

    def _make_folder(self, path: str) -> None:
        """As the store's own folder is: whoever may write there may write here."""
        if os.path.isdir(path):
            return
        self._make_folder(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
            os.chmod(path, self._mode())


def cant_write(error: OSError, path: str) -> StoreError:
    return StoreError(f"a large file can't be written ({why(error)})", path)
