"""The `.hg` folder that the store is in: the repository's own, or for a share its source's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.hg.store.repository import Repository


def source_hg_path(repository: Repository) -> str:
    """Very old repositories have no `store` folder: there the store is the `.hg` folder."""
    has_folder = "store" in repository.requirements
    return os.path.dirname(repository.store_path) if has_folder else repository.store_path


def cache_path(repository: Repository) -> str:
    """Where Mercurial keeps caches of what is in the store."""
    return os.path.join(source_hg_path(repository), "cache")
