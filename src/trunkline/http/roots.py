"""From a URL path to a repository on disk: found when asked for, never outside what is served.

One PATH that is a repository is served at `/`. One PATH that is a folder has each repository below
it at its relative path. With several PATHs each stands under its own base name.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

from trunkline.errors import SettingsError
from trunkline.http.shut import tell_not_entered

FOUND_LIMIT = 10_000  # places whose check is kept


Identity = tuple[int, int]
SvnIdentity = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mount:
    """One PATH. `root` has no symlinks in it."""

    name: str  # first name of its URLs, "" when it has none
    root: str
    is_repository: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A repository. `name` is its URL path without slashes at the ends, `path` has no symlinks;
    `identity` is what was seen there.
    """

    name: str
    path: str
    identity: Identity | None = field(default=None, compare=False)


class Roots:
    """Thread-safe."""

    def __init__(self, mounts: Iterable[Mount]) -> None:
        self.mounts = tuple(mounts)
        self._by_name = {mount.name: mount for mount in self.mounts}
        self._has_names = "" not in self._by_name
        self._found: OrderedDict[tuple[str, ...], Place] = OrderedDict()
        self._lock = Lock()

    def find(self, names: tuple[str, ...]) -> Place | None:
        """The repository at exactly this path. Costs one stat when it was found before."""
        mount, below = self.locate(names)
        if mount is None or (mount.is_repository and below):
            return None
        path = os.path.join(mount.root, *below)
        identity = repository_identity(path)
        if identity is None:
            return None
        with self._lock:
            known = self._found.get(names)
            if known is not None and known.identity == identity:
                self._found.move_to_end(names)
                return known
        # What the operator named is taken as it is.
        real = mount.root if mount.is_repository else repository_inside(path, mount.root)
        if real is None:
            return None
        place = Place("/".join(names), real, identity)
        with self._lock:
            self._found[names] = place
            while len(self._found) > FOUND_LIMIT:
                self._found.popitem(last=False)
        return place

    def is_folder(self, names: tuple[str, ...]) -> bool:
        """Whether repositories may stand below this path. Lists nothing."""
        if not names:
            return self.single_repository is None
        mount, below = self.locate(names)
        if mount is None or mount.is_repository:
            return False
        path = os.path.realpath(os.path.join(mount.root, *below))
        return is_served(path, mount.root) and os.path.isdir(path)

    def locate(self, names: tuple[str, ...]) -> tuple[Mount | None, tuple[str, ...]]:
        """The mount that a path is of, and what is left of the path."""
        if not self._has_names:
            return self._by_name[""], names
        if not names:
            return None, ()
        return self._by_name.get(names[0]), names[1:]

    def known_as(self, names: tuple[str, ...], path: str) -> tuple[str, ...]:
        """The URL paths of the repository that `names` lead to: theirs, and where a symlink is on
        the way, that of where it really is. `path` has no symlinks in it.
        """
        asked = "/".join(names)
        mount, _ = self.locate(names)
        if mount is None or mount.is_repository or not path.startswith(mount.root):
            return (asked,)
        inner = path[len(mount.root) :].strip("/")
        real = f"{mount.name}/{inner}" if mount.name else inner
        return (asked,) if real == asked else (asked, real)

    @property
    def single_repository(self) -> str | None:
        if len(self.mounts) == 1 and self.mounts[0].is_repository:
            return self.mounts[0].root
        return None


def repository_identity(path: str) -> Identity | None:
    """Of the `.hg` folder, through symlinks; None when there is none that we may see."""
    try:
        found = os.stat(path + "/.hg")
    except PermissionError:
        tell_not_entered(path)
        return None
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def svn_identity(path: str) -> SvnIdentity | None:
    """Changes when another repository takes its place, or its format or UUID changes; None where
    no Subversion repository is.
    """
    try:
        if not stat.S_ISREG(os.stat(path + "/format").st_mode):
            return None
        uuid, form = os.stat(path + "/db/uuid"), os.stat(path + "/db/format")
    except (OSError, ValueError):
        return None
    return uuid.st_dev, uuid.st_ino, uuid.st_ctime_ns, form.st_ino, form.st_ctime_ns


def repository_inside(path: str, root: str) -> str | None:
    """Where a repository really is; None where it, or its `.hg`, leads out of `root`."""
    real = os.path.realpath(path)
    inner = os.path.realpath(os.path.join(real, ".hg"))
    return real if is_served(real, root) and is_inside(inner, root) else None


def is_served(path: str, root: str) -> bool:
    """Whether a folder is below `root` and in nobody's `.hg`, a symlink's target too.

    Both without symlinks.
    """
    return is_inside(path, root) and ".hg" not in path[len(root) :].lower().split("/")


def is_inside(path: str, root: str) -> bool:
    """Both without symlinks. Compared name by name, never by bare prefix."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def mount_paths(paths: Iterable[str]) -> Roots:
    """Raises: SettingsError for what isn't there, can't be read, or would share a name."""
    found = [mount_path(path) for path in paths]
    if len(found) == 1:
        return Roots([Mount("", found[0].root, found[0].is_repository)])
    names: dict[str, str] = {}
    for mount in found:
        if mount.name in names:
            raise SettingsError(
                f"{names[mount.name]} and {mount.root} would both be served as /{mount.name}"
            )
        names[mount.name] = mount.root
    return Roots(found)


def mount_path(path: str) -> Mount:
    root = os.path.realpath(path)
    name = os.path.basename(os.path.abspath(path))
    try:
        entries = os.scandir(root)
    except NotADirectoryError:
        raise SettingsError(f"{path}: not a repository and not a folder") from None
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    entries.close()
    if name in ("", ".hg"):
        if name == ".hg":
            raise SettingsError(f"{path}: name the repository, not its .hg folder")
        name = "root"
    return Mount(name, root, repository_identity(root) is not None)
