"""What a repository's format demands of its reader, and whether that is us.

Source: hg 7.2.4, mercurial/requirements.py, helptext/internals/requirements.txt and localrepo.py
(shares, share-safe).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from trunkline.errors import NotNative, StoreError
from trunkline.hg.store.links import A_LINK, is_link
from trunkline.hg.store.revlog import read_whole

NEEDED: Final = frozenset({"revlogv1", "store"})

# What we read. Each of the others of Mercurial changes what stands in the store (treemanifest,
# narrow, revlog 2, LFS pointers ...), and so does one that we have never heard of.
NATIVE: Final = NEEDED | {
    "generaldelta",
    "sparserevlog",
    "fncache",
    "dotencode",
    "revlog-compression-zstd",
    "revlog-compression-none",
    "exp-compression-none",
    "persistent-nodemap",
    "share-safe",
    "shared",
    "relshared",
    "internal-phase",
    "internal-phase-2",
    "exp-archived-phase",
    "archived-phase",
    "bookmarksinstore",
    "dirstate-v2",
    "dirstate-tracked-key-v1",
    "exp-sparse",
    "sparse",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of a repository are.

    `hg_path` is the `.hg` of the repository itself: working copy state, local tags and, usually,
    bookmarks. `source_path` is the `.hg` that holds the store: the same, or the share's source.
    """

    hg_path: str
    source_path: str
    requirements: frozenset[str]
    shares_bookmarks: bool

    @property
    def store_path(self) -> str:
        return self.source_path + "/store"

    @property
    def bookmarks_path(self) -> str:
        if "bookmarksinstore" in self.requirements:
            return self.store_path + "/bookmarks"
        return (self.source_path if self.shares_bookmarks else self.hg_path) + "/bookmarks"


def read_layout(hg_path: str) -> Layout:
    """Raises: NotNative; StoreError where there is no repository."""
    if not os.path.isdir(hg_path):
        raise StoreError("no repository here", hg_path)
    requirements = read_requirements(hg_path + "/requires")
    source_path = hg_path
    is_share = not requirements.isdisjoint({"shared", "relshared"})
    if is_share:
        source_path = read_source_path(hg_path, "relshared" in requirements)
        source = read_requirements(source_path + "/requires")
        if ("share-safe" in source) != ("share-safe" in requirements):
            raise NotNative("the share and its source differ in share-safe")
    if is_link(source_path + "/store"):
        raise StoreError(A_LINK, source_path + "/store")
    if "share-safe" in requirements:
        requirements |= read_requirements(source_path + "/store/requires")
    refuse_foreign(requirements)
    return Layout(hg_path, source_path, requirements, is_share and shares_bookmarks(hg_path))


def refuse_foreign(requirements: frozenset[str]) -> None:
    """Raises: NotNative."""
    if foreign := requirements - NATIVE:
        raise NotNative(f"the repository requires {', '.join(sorted(foreign))}")
    if missing := NEEDED - requirements:
        raise NotNative(f"an old repository format, without {', '.join(sorted(missing))}")


def read_requirements(path: str) -> frozenset[str]:
    """A word a line; no file is a repository of before there were requirements."""
    try:
        data = read_whole(path)
    except FileNotFoundError:
        return frozenset()
    return frozenset(data.decode("utf-8", "surrogateescape").split())


def read_source_path(hg_path: str, is_relative: bool) -> str:
    """The `.hg` of a share's source. Raises: StoreError."""
    try:
        text = os.fsdecode(read_whole(hg_path + "/sharedpath")).rstrip("\n")
    except FileNotFoundError:
        raise StoreError("a share without a source", hg_path + "/sharedpath") from None
    if not text or "\0" in text:
        raise StoreError("not a path", hg_path + "/sharedpath", 0)
    path = os.path.realpath(os.path.join(hg_path, text) if is_relative else text)
    if not os.path.isdir(path):
        raise StoreError(f"the share's source isn't there: {path}", hg_path + "/sharedpath")
    return path


def shares_bookmarks(hg_path: str) -> bool:
    """Whether the share was made with `--bookmarks`."""
    try:
        return b"bookmarks" in read_whole(hg_path + "/shared").split()
    except FileNotFoundError:
        return False
