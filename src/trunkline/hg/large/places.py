"""Where Mercurial's extensions for large files keep them, and whether they are in use.

Source: hg 7.2.4, hgext/lfs/blobstore.py, hgext/largefiles/lfutil.py (storepath, _usercachedir).
"""

from __future__ import annotations

import os
import sys

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.large.blobs import Blobs
from trunkline.hg.stock.reasons import has_extension
from trunkline.hg.store.requirements import read_requirements, read_source_path

LFS = "lfs"
LARGEFILES = "largefiles"


def lfs_blobs(root: str, config: HgConfig) -> Blobs | None:
    """None: the contents aren't served here. Raises: StoreError, SettingsError."""
    source, requirements = layout(root)
    if LFS not in requirements and not has_extension(config, LFS):
        return None
    if not config.bool("experimental", "lfs.serve", True):
        return None
    store = source + "/store" if "store" in requirements else source
    is_alone = config.bool("experimental", "lfs.disableusercache")
    cache = "" if is_alone else user_cache(LFS, root, config)
    return Blobs(store + "/lfs/objects", cache, store, "sha256", is_split=True)


def largefiles_blobs(root: str, config: HgConfig) -> Blobs:
    """Raises: StoreError."""
    source, requirements = layout(root)
    store = source + "/store" if "store" in requirements else source
    cache = user_cache(LARGEFILES, root, config)
    return Blobs(f"{source}/{LARGEFILES}", cache, store, "sha1", is_split=False)


def layout(root: str) -> tuple[str, frozenset[str]]:
    """The `.hg` that holds the store, and what the repository requires."""
    hg_path = root + "/.hg"
    requirements = read_requirements(hg_path + "/requires")
    source = hg_path
    if not requirements.isdisjoint({"shared", "relshared"}):
        source = read_source_path(hg_path, "relshared" in requirements)
    if "share-safe" in requirements:
        requirements |= read_requirements(source + "/store/requires")
    return source, requirements


def user_cache(name: str, root: str, config: HgConfig) -> str:
    """The folder that all repositories of the server's account share; "" where it has none.

    A relative path is of the repository's own hgrc.
    """
    configured = config.get(name, "usercache")
    if configured:
        return os.path.join(root, ".hg", os.path.expanduser(configured))
    home = os.environ.get("HOME", "")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", name) if home else ""
    caches = os.environ.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else "")
    return os.path.join(caches, name) if caches else ""
