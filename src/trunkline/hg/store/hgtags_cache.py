"""The cache of `.hgtags` file nodes that Mercurial keeps: which version each changeset has.

Wire:   .hg/cache/hgtagsfnodes1, 24 bytes a revision: the first 4 of its node, then the file node;
        a null file node says "no .hgtags there"; all bits set: not known.
Source: hg 7.2.4, mercurial/tags.py (hgtagsfnodescache).
"""

from __future__ import annotations

import os
from typing import Final

from trunkline.errors import StoreError
from trunkline.hg.node import Node
from trunkline.hg.store.file import read_whole

RECORD: Final = 24  # bytes
PREFIX: Final = 4  # bytes of the changeset's node
UNKNOWN: Final = b"\xff" * RECORD


class HgtagsCache:
    """A record counts only when its node prefix fits; so a stale cache says little, never a lie."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    def get(self, rev: int, node: Node) -> Node | None:
        """The file node, null for none; None: the cache doesn't know."""
        record = self._data[rev * RECORD : (rev + 1) * RECORD]
        if len(record) != RECORD or record == UNKNOWN or record[:PREFIX] != node[:PREFIX]:
            return None
        return Node(record[PREFIX:])


def read_hgtags_cache(cache_path: str) -> HgtagsCache:
    """A cache that can't be read is an empty one."""
    try:
        return HgtagsCache(read_whole(os.path.join(cache_path, "hgtagsfnodes1")))
    except (FileNotFoundError, StoreError):
        return HgtagsCache()
