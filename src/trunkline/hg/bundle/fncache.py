"""The list that a store keeps of its files, and the order that streams have them in.

Wire:   a name a line, unencoded but for directories that end like a revlog (`foo.i.hg/`).
Source: hg 7.2.4, mercurial/store.py (fncache, _gather_revlog, _ext_key).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from trunkline.errors import StoreError
from trunkline.hg.bundle.store_folder import StoreFolder

FNCACHE: Final = b"fncache"
TOPS: Final = (b"data/", b"meta/")
MARKED: Final = re.compile(rb"\.(hg|i|d)\.hg/")
EXTENSIONS: Final = (b".i", b".d")


def read_fncache(folder: StoreFolder) -> list[bytes]:
    """Unencoded names of revlogs, sorted. Raises: StoreError."""
    data = folder.read(FNCACHE)
    if not data:
        return []
    if not data.endswith(b"\n"):
        raise StoreError("doesn't end with a newline", folder.join(FNCACHE), len(data))
    return sort_names(filter(is_revlog_name, unmark_directories(data).split(b"\n")))


def is_revlog_name(name: bytes) -> bool:
    return name.startswith(TOPS) and name.endswith(EXTENSIONS)


def sort_names(names: Iterable[bytes]) -> list[bytes]:
    """By revlog, `.d` before `.i`; a `.d` without `.i` is left out, as no index refers to it."""
    ordered = sorted(set(names), key=lambda name: name[:-2] + b"\0" + name[-1:])
    return [
        name
        for name, after in zip(ordered, [*ordered[1:], b""], strict=True)
        if name.endswith(b"i") or after == name[:-1] + b"i"
    ]


def unmark_directories(text: bytes) -> bytes:
    """Undo `paths.mark_directories`; lines of many names may be done at once."""
    if b".hg/" not in text:
        return text
    return MARKED.sub(rb".\1/", text)
