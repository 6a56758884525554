"""The names of a store that keeps no list of them (one without `fncache`): its folders tell.

Source: hg 7.2.4, mercurial/store.py (_walk, decodefilename).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from trunkline.errors import StoreError
from trunkline.hg.bundle.fncache import EXTENSIONS, unmark_directories
from trunkline.hg.bundle.store_folder import StoreFolder
from trunkline.hg.store.links import why

_ESCAPE: Final = re.compile(rb"_(.?)|~([0-9a-f]{2})?", re.DOTALL)


def walk_names(folder: StoreFolder) -> Iterator[bytes]:
    """Unencoded names, in no order. Raises: StoreError."""

    def fail(error: OSError) -> None:
        raise StoreError(f"can't list ({why(error)})", folder.path) from None

    if folder.stat(b"data") is None:
        return
    for place, _folders, files, _descriptor in os.fwalk(
        b"data", dir_fd=folder.descriptor, onerror=fail
    ):
        for file in files:
            if file.endswith(EXTENSIONS):
                path = place + b"/" + file
                try:
                    yield unescape_path(path)
                except ValueError:
                    raise StoreError("not a store's file name", folder.join(path)) from None


def unescape_path(path: bytes) -> bytes:
    """Undo `paths.escape_path`. Raises: ValueError for what no name is written as."""
    return unmark_directories(_ESCAPE.sub(_unescape, path))


def _unescape(match: re.Match[bytes]) -> bytes:
    letter, digits = match.groups()
    if letter == b"_":
        return letter
    if letter and letter.islower():
        return letter.upper()
    if digits:
        return bytes((int(digits, 16),))
    raise ValueError(f"not an escape: {match[0]!r}")
