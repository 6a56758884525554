"""Files that a configuration came from, and whether any of them is another one now."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

FILES_LIMIT = 200  # files watched for one repository
INCLUDE_FILE_LIMIT = 1024 * 1024  # bytes of a file searched for includes

Signature = tuple[tuple[int, int, int, int] | None, ...]

# Source: hg 7.2.4, mercurial/config.py, includere.
_INCLUDE = re.compile(rb"^%include\s+(\S|\S.*\S)\s*$", re.MULTILINE)


def sign(paths: Iterable[str]) -> Signature:
    """For each path: mtime in ns, size, inode and owner; None while it isn't there."""
    signature: list[tuple[int, int, int, int] | None] = []
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            signature.append(None)
        else:
            signature.append((found.st_mtime_ns, found.st_size, found.st_ino, found.st_uid))
    return tuple(signature)


def with_includes(paths: Iterable[str]) -> tuple[str, ...]:
    """`paths` and every file that they name by %include, there or not.

    Only what to look at is found here; what the files mean, Mercurial itself says.
    """
    seen: dict[str, None] = {}
    waiting = list(paths)[::-1]
    while waiting and len(seen) < FILES_LIMIT:
        path = waiting.pop()
        if path in seen:
            continue
        seen[path] = None
        waiting.extend(reversed(_included(path)))
    return tuple(seen)


def _included(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            text = file.read(INCLUDE_FILE_LIMIT)
    except OSError:
        return []
    return [
        os.path.normpath(
            os.path.join(os.path.dirname(path), os.path.expanduser(os.path.expandvars(name)))
        )
        for name in (os.fsdecode(found) for found in _INCLUDE.findall(text))
    ]
