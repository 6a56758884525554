"""About how many bytes a reply will have, from a few `stat` calls."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from trunkline.hg.bundle.outgoing import Outgoing
from trunkline.hg.store.snapshot import Snapshot

LOGS: Final = ("00changelog.i", "00changelog.d", "00manifest.i", "00manifest.d")
# Files' histories come to some times what changesets and manifests do; in repositories of programs
# it is three times and more.
ALL_OF_LOGS: Final = 3


def changegroup_size(snapshot: Snapshot, outgoing: Outgoing) -> int:
    """Of the deltas as they are stored: about what a packed reply has."""
    count = snapshot.changelog.count
    return store_size(snapshot) * len(outgoing.sent) // count if count else 0


def store_size(snapshot: Snapshot) -> int:
    """Without a look at every file."""
    size = 0
    for name in LOGS:
        with suppress(OSError):
            size += os.stat(f"{snapshot.layout.store_path}/{name}").st_size
    return size * ALL_OF_LOGS


def file_count(snapshot: Snapshot) -> int:
    """About how many files the store has."""
    with suppress(OSError):
        return os.stat(f"{snapshot.layout.store_path}/fncache").st_size // NAME_LENGTH
    return 0


NAME_LENGTH: Final = 32  # bytes of one line in fncache, about
