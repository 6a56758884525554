"""Folders that the server's account may not enter or list: what is in them isn't served, and a line
on stderr says so, once for each state of a folder.
"""

from __future__ import annotations

import logging
import os
from threading import Lock

log = logging.getLogger(__name__)

TOLD_LIMIT = 1000  # folders that are remembered

_told: dict[tuple[str, str], int] = {}  # folder and words -> when it was changed, ns
_lock = Lock()


def tell_not_entered(path: str) -> None:
    """`path` gave a PermissionError. The folder nearest to `/` that is shut is named, so that no
    client can make us name more than there are.
    """
    folder = path
    while (parent := os.path.dirname(folder)) != folder and is_shut(parent):
        folder = parent
    _tell(folder, "enter")


def tell_not_listed(folder: str) -> None:
    _tell(folder, "enter" if is_shut(folder) else "list")


def is_shut(folder: str) -> bool:
    try:
        os.stat(os.path.join(folder, "."))
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _tell(folder: str, verb: str) -> None:
    try:
        changed = os.stat(folder).st_ctime_ns
    except (OSError, ValueError):
        return
    with _lock:
        if _told.pop((folder, verb), None) == changed:
            _told[folder, verb] = changed
            return
        _told[folder, verb] = changed
        while len(_told) > TOLD_LIMIT:
            del _told[next(iter(_told))]
    log.warning("%s: the server's account can't %s it (permission denied)", folder, verb)
