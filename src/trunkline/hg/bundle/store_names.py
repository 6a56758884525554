"""The names of a store's revlogs: of `fncache` where there is one, else of the folders themselves.

Source: hg 7.2.4, mercurial/store.py (fncache, _walk, _gather_revlog).
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from threading import Lock
from typing import Final, NamedTuple

from trunkline.errors import StoreError
from trunkline.hg.bundle.store_folder import StoreFolder
from trunkline.hg.store.paths import PathEncoding, encoder, escape_path, path_encoding

FNCACHE: Final = b"fncache"
KEPT: Final = 64 << 20  # bytes of names that are kept between requests, of all repositories
TOPS: Final = (b"data/", b"meta/")

_ESCAPE: Final = re.compile(rb"_(.)|~([0-9a-f]{2})", re.DOTALL)


class StoreNames(NamedTuple):
    """In the order of Mercurial's own streams. A `.d` always has its `.i` behind it.

    `names` are unencoded, `paths` stand below the store's folder.
    """

    names: list[bytes]
    paths: list[bytes]


class _Kept(NamedTuple):
    signature: tuple[int, ...]
    names: bytes
    paths: bytes


class NameCache:
    """Names and their encoded paths as two blocks of lines a repository: 100 bytes a file, where
    lists would take 250. Encoding costs 5 µs a name, splitting 0.05.
    """

    def __init__(self, limit: int = KEPT) -> None:
        self._limit = limit
        self._held = 0
        self._kept: OrderedDict[tuple[int, int], _Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, folder: StoreFolder, encoding: PathEncoding) -> StoreNames:
        file = folder.stat(FNCACHE)
        if file is None:
            return StoreNames([], [])
        there = os.fstat(folder.descriptor)
        place = there.st_dev, there.st_ino
        signature = file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns
        with self._lock:
            kept = self._kept.get(place)
            if kept is not None and kept.signature == signature:
                self._kept.move_to_end(place)
            else:
                kept = None
        if kept is None:
            kept = self._read(folder, encoding, signature)
            self._keep(place, kept)
        if not kept.names:
            return StoreNames([], [])
        names = kept.names.split(b"\n")
        return StoreNames(names, names if kept.paths is kept.names else kept.paths.split(b"\n"))

    def _read(
        self, folder: StoreFolder, encoding: PathEncoding, signature: tuple[int, ...]
    ) -> _Kept:
        names = read_fncache(folder)
        text = b"\n".join(names)
        paths = b"\n".join(map(encoder(encoding), names))
        return _Kept(signature, text, text if paths == text else paths)

    def _keep(self, place: tuple[int, int], kept: _Kept) -> None:
        with self._lock:
            old = self._kept.pop(place, None)
            if old is not None:
                self._held -= len(old.names) + len(old.paths)
            size = len(kept.names) + len(kept.paths)
            if size > self._limit:
                return
            self._kept[place] = kept
            self._held += size
            while self._held > self._limit:
                _place, oldest = self._kept.popitem(last=False)
                self._held -= len(oldest.names) + len(oldest.paths)


CACHE: Final = NameCache()


def store_names(
    folder: StoreFolder, requirements: Collection[str], more: Iterable[bytes] = ()
) -> StoreNames:
    """`more`: names that a running transaction may not have told `fncache` yet. Raises: StoreError.

    Read the journal for them BEFORE calling: names are in `fncache` before the journal goes.
    """
    encoding = path_encoding(requirements)
    if encoding is PathEncoding.ESCAPED:
        names = sort_names(walk_names(folder))
        return StoreNames(names, [escape_path(name) for name in names])
    listed = CACHE.get(folder, encoding)
    fresh = {name for name in more if is_revlog_name(name)}.difference(listed.names)
    if not fresh:
        return listed
    paths = dict(zip(listed.names, listed.paths, strict=True))
    paths.update((name, encoder(encoding)(name)) for name in fresh)
    names = sort_names(paths)
    return StoreNames(names, [paths[name] for name in names])


def is_revlog_name(name: bytes) -> bool:
    return name.startswith(TOPS) and name.endswith((b".i", b".d"))


def sort_names(names: Iterable[bytes]) -> list[bytes]:
    """By revlog, `.d` before `.i`; a `.d` without `.i` is left out, as no index refers to it."""
    ordered = sorted(set(names), key=lambda name: name[:-2] + b"\0" + name[-1:])
    return [
        name
        for name, after in zip(ordered, [*ordered[1:], b""], strict=True)
        if name[-1] == 0x69 or (after[-1:] == b"i" and after[:-1] == name[:-1])
    ]


def read_fncache(folder: StoreFolder) -> list[bytes]:
    """Sorted. Raises: StoreError."""
    data = folder.read(FNCACHE)
    if not data:
        return []
    if not data.endswith(b"\n"):
        raise StoreError("doesn't end with a newline", folder.join(FNCACHE), len(data))
    return sort_names(filter(is_revlog_name, unmark_directories(data).split(b"\n")))


def unmark_directories(text: bytes) -> bytes:
    """Undo `paths.mark_directories`; lines of many names may be done at once."""
    if b".hg/" not in text:
        return text
    return text.replace(b".d.hg/", b".d/").replace(b".i.hg/", b".i/").replace(b".hg.hg/", b".hg/")


def unescape_path(path: bytes, where: str | None = None) -> bytes:
    """Undo `paths.escape_path`. Raises: StoreError for what no name is written as."""
    if b"_" in path or b"~" in path:
        try:
            path = _ESCAPE.sub(_unescape, path)
        except ValueError:
            raise StoreError(f"not a store's file name: {path!r}", where) from None
    return unmark_directories(path)


def _unescape(match: re.Match[bytes]) -> bytes:
    letter, digits = match.groups()
    if digits is not None:
        return bytes((int(digits, 16),))
    if letter == b"_":
        return letter
    if not letter.islower() or not letter.isascii():
        raise ValueError(letter)
    return letter.upper()


def walk_names(folder: StoreFolder) -> Iterator[bytes]:
    """Unencoded names of a store that keeps no list of its files."""

    def fail(error: OSError) -> None:
        raise StoreError(f"can't list ({error.strerror})", folder.path) from None

    if folder.stat(b"data") is None:
        return
    for place, _folders, files, _descriptor in os.fwalk(
        b"data", dir_fd=folder.descriptor, onerror=fail
    ):
        for file in files:
            if file.endswith((b".i", b".d")):
                yield unescape_path(place + b"/" + file, folder.path)
