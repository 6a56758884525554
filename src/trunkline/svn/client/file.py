"""What is to be committed: texts in memory or on disk, read when they are sent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trunkline.svn.client.failed import CommitFailed

BLOCK = 256 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class File:
    """`text` is the whole text, or where it is. `properties` are set besides."""

    text: bytes | Path
    properties: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Raises: CommitFailed."""
        if isinstance(self.text, bytes):
            return len(self.text)
        try:
            return self.text.stat().st_size
        except OSError as error:
            raise CommitFailed(str(error)) from None

    def blocks(self) -> Iterator[bytes]:
        """Raises: CommitFailed."""
        if isinstance(self.text, bytes):
            yield self.text
            return
        try:
            with self.text.open("rb") as file:
                while block := file.read(BLOCK):
                    yield block
        except OSError as error:
            raise CommitFailed(str(error)) from None


def files_below(folder: Path) -> dict[str, File]:
    """Every regular file below, by its path from there; no symlinks, nothing called `.svn`."""
    found: dict[str, File] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".svn")
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                found[path.relative_to(folder).as_posix()] = File(path)
    return found
