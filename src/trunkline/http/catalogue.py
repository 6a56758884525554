"""Which repositories there are below the roots, for people. Serving one doesn't ask here."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock

from trunkline.config.hgconfig import HgConfig
from trunkline.config.settings import Index
from trunkline.errors import SettingsError, StoreError
from trunkline.hg.stock.watch import read_text
from trunkline.http.roots import (
    Mount,
    Roots,
    is_served,
    repository_identity,
    repository_inside,
    svn_identity,
)
from trunkline.http.shut import tell_not_listed

CACHE_FACTOR = 20  # a list is kept for so many times what it took, so it costs 5 % at most

# A repository without an hgrc that holds one of these is listed without asking Mercurial.
TELLING_WORDS = (b"include", b"hidden", b"deny", b"allow", b"description", b"name", b"contact")


@dataclass(frozen=True, slots=True)
class Entry:
    """`path` is the URL path below `/`, without slashes at its ends. `config` is None of a
    Subversion repository.
    """

    path: str
    name: str
    description: str
    real: str
    config: HgConfig | None


@dataclass(frozen=True, slots=True)
class Listing:
    entries: tuple[Entry, ...]
    is_cut: bool

    def below(self, prefix: str) -> Listing:
        """Those in a folder; "" is all."""
        if not prefix:
            return self
        start = prefix + "/"
        return Listing(tuple(e for e in self.entries if e.path.startswith(start)), self.is_cut)

    def shown_to(self, may_read: Callable[[Entry], bool]) -> Listing:
        return Listing(tuple(filter(may_read, self.entries)), self.is_cut)


class Catalogue:
    """Thread-safe; one thread makes the list, others wait for it."""

    def __init__(self, roots: Roots, limits: Index, config: Callable[[str], HgConfig]) -> None:
        self._roots = roots
        self._limits = limits
        self._config = config
        self._lock = Lock()
        self._listing = Listing((), False)
        self._good_until = 0.0
        self._common: HgConfig | None = None

    def listing(self) -> Listing:
        """Sorted by path. Not in it: what is hidden. In it: what not everybody may read."""
        with self._lock:
            start = time.monotonic()
            if start < self._good_until:
                return self._listing
            self._listing = self._make()
            end = time.monotonic()
            good = min(CACHE_FACTOR * (end - start), float(self._limits.cache_seconds))
            self._good_until = end + good
            return self._listing

    def _make(self) -> Listing:
        self._common = None
        entries: list[Entry] = []
        budget = Budget(self._limits.entries)
        for mount in self._roots.mounts:
            for path, real in walk(mount, budget):
                if len(entries) >= self._limits.repositories:
                    budget.is_spent = True
                    break
                entry = self._entry(path, real)
                if entry is not None:
                    entries.append(entry)
        entries.sort(key=lambda entry: entry.path)
        return Listing(tuple(entries), budget.is_spent)

    def _entry(self, path: str, real: str) -> Entry | None:
        fallback = path or os.path.basename(real)
        if svn_identity(real) is not None:
            return Entry(path, fallback, "", real, None)
        find = self._own_config if says_something(real) else self._common_config
        config = find(real)
        if config is None:
            return None
        try:
            if config.bool("web", "hidden", untrusted=True):
                return None
        except SettingsError:
            return None
        name = config.text("web", "name", untrusted=True) or fallback
        description = config.text("web", "description", untrusted=True)
        return Entry(path, name, description, real, config)

    def _own_config(self, real: str) -> HgConfig | None:
        try:
            return self._config(real)
        except StoreError:  # broken: whoever asks for it is told, and the log has it then
            return None

    def _common_config(self, real: str) -> HgConfig | None:
        """Of a repository that says nothing itself: what another such one has.

        Asked for once in a list, so 5,000 repositories cost 5,000 looks for a file and no more.
        """
        if self._common is None:
            self._common = self._own_config(real)
        return self._common


@dataclass
class Budget:
    """Directory entries that may still be looked at."""

    left: int
    is_spent: bool = False

    def spend(self) -> bool:
        self.left -= 1
        self.is_spent = self.is_spent or self.left < 0
        return not self.is_spent


def walk(mount: Mount, budget: Budget) -> Iterator[tuple[str, str]]:
    """(URL path, real path) of each repository, nearest to the root first.

    Symlinks are followed where they stay inside, after all folders: no folder is entered twice, so
    a link must not come before what it leads to.
    """
    if mount.is_repository:
        yield mount.name, mount.root
        return
    waiting = deque([Folder(mount.name, mount.root)])
    links: deque[Folder] = deque()
    seen: set[tuple[int, int]] = set()
    while waiting or links:
        folder = (waiting or links).popleft()
        if not folder.is_new(seen):
            continue
        if svn_identity(folder.real) is not None:
            yield folder.path, folder.real
            continue  # all below it is its own
        if (
            folder.path != mount.name
            and repository_identity(folder.real) is not None
            and repository_inside(folder.real, mount.root)
        ):
            yield folder.path, folder.real
        for below, is_link in folders(folder, mount.root, budget):
            (links if is_link else waiting).append(below)


@dataclass(frozen=True, slots=True)
class Folder:
    """`path` is of its URL, `real` has no symlinks in it."""

    path: str
    real: str

    def is_new(self, seen: set[tuple[int, int]]) -> bool:
        """Whether it is there and wasn't `seen`; it is now."""
        try:
            found = os.stat(self.real)
        except OSError:
            return False
        identity = found.st_dev, found.st_ino
        if identity in seen:
            return False
        seen.add(identity)
        return True


def folders(folder: Folder, root: str, budget: Budget) -> Iterator[tuple[Folder, bool]]:
    """Those in a folder, and whether each is a symlink."""
    try:
        with os.scandir(folder.real) as entries:
            for entry in entries:
                if not budget.spend():
                    return
                if entry.name.lower() == ".hg" or not is_folder(entry):
                    continue
                is_link = entry.is_symlink()
                real = os.path.realpath(entry.path) if is_link else entry.path
                if is_served(real, root):
                    path = f"{folder.path}/{entry.name}" if folder.path else entry.name
                    yield Folder(path, real), is_link
    except PermissionError:
        tell_not_listed(folder.real)
    except OSError:
        return  # gone


def is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def says_something(real: str) -> bool:
    """Whether a repository's own files may say anything that a list wants to know."""
    for name in ("hgrc", "hgrc-not-shared", "sharedpath"):
        try:
            text = read_text(os.path.join(real, ".hg", name)).lower()
        except StoreError:
            return True
        if text and (name == "sharedpath" or any(word in text for word in TELLING_WORDS)):
            return True
    return False
