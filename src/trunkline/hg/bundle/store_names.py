"""The names of a store's revlogs and where each stands on disk, kept between requests.

Encoding a name costs 5 µs, which for 38,000 names is half of what sending the files takes.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Collection
from threading import Lock
from typing import Final, NamedTuple

from trunkline.hg.bundle.fncache import FNCACHE, read_fncache, sort_names
from trunkline.hg.bundle.store_folder import StoreFolder
from trunkline.hg.bundle.store_walk import walk_names
from trunkline.hg.store.paths import PathEncoding, encoder, escape_path, path_encoding

KEPT: Final = 64 << 20  # bytes of names that are kept, of all repositories


class StoreNames(NamedTuple):
    """In the order of Mercurial's own streams. A `.d` always has its `.i` behind it.

    `names` are unencoded, `paths` stand below the store's folder.
    """

    names: list[bytes]
    paths: list[bytes]


class Kept(NamedTuple):
    """Two blocks of lines: 100 bytes a file, where lists would take 250."""

    signature: tuple[int, ...]
    names: bytes
    paths: bytes

    def unpack(self) -> StoreNames:
        if not self.names:
            return StoreNames([], [])
        names = self.names.split(b"\n")
        return StoreNames(names, names if self.paths is self.names else self.paths.split(b"\n"))

    @property
    def size(self) -> int:
        return len(self.names) + len(self.paths)


NOTHING: Final = Kept((), b"", b"")


class NameCache:
    """What `fncache` files say, valid while their stat stands still. `limit`: bytes."""

    def __init__(self, limit: int = KEPT) -> None:
        self._limit = limit
        self._held = 0
        self._kept: OrderedDict[tuple[int, int], Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, folder: StoreFolder, encoding: PathEncoding) -> StoreNames:
        """Raises: StoreError."""
        file = folder.stat(FNCACHE)
        if file is None:
            return StoreNames([], [])
        place = os.fstat(folder.descriptor)
        key = place.st_dev, place.st_ino
        signature = file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns
        with self._lock:
            kept = self._kept.get(key, NOTHING)
            if kept is not NOTHING:
                self._kept.move_to_end(key)
        if kept.signature != signature:
            kept = read_names(folder, encoding, signature, kept)
            self._keep(key, kept)
        return kept.unpack()

    def _keep(self, key: tuple[int, int], kept: Kept) -> None:
        with self._lock:
            self._held -= self._kept.pop(key, NOTHING).size
            if kept.size > self._limit:
                return
            self._kept[key] = kept
            self._held += kept.size
            while self._held > self._limit:
                self._held -= self._kept.popitem(last=False)[1].size


CACHE: Final = NameCache()


def read_names(
    folder: StoreFolder, encoding: PathEncoding, signature: tuple[int, ...], before: Kept
) -> Kept:
    """Only names that weren't there `before` are encoded. Raises: StoreError."""
    names = read_fncache(folder)
    text = b"\n".join(names)
    known = before.unpack()
    paths = dict(zip(known.names, known.paths, strict=True))
    encode = encoder(encoding)
    block = b"\n".join([paths.get(name) or encode(name) for name in names])
    return Kept(signature, text, text if block == text else block)


def store_names(folder: StoreFolder, requirements: Collection[str]) -> StoreNames:
    """Raises: StoreError."""
    encoding = path_encoding(requirements)
    if encoding is not PathEncoding.ESCAPED:
        return CACHE.get(folder, encoding)
    names = sort_names(walk_names(folder))
    return StoreNames(names, [escape_path(name) for name in names])
