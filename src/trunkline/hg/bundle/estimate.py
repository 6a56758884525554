"""About how many bytes a reply will have, from `stat` calls: where there are few files, of each,
as it may be large; where there are many, of the history's own logs.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final
from weakref import WeakKeyDictionary

from trunkline.hg.bundle.outgoing import Outgoing
from trunkline.hg.store.snapshot import Snapshot

LOGS: Final = ("00changelog.i", "00changelog.d", "00manifest.i", "00manifest.d")
# Files' histories come to some times what changesets and manifests do; in repositories of programs
# it is three times and more.
ALL_OF_LOGS: Final = 3


# Units: files. What `stat` of them costs comes with each new state.
FEW: Final = 1000
HISTORIES: Final = ("data", "dh")  # folders of the store

_sizes: WeakKeyDictionary[Snapshot, int] = WeakKeyDictionary()


def changegroup_size(snapshot: Snapshot, outgoing: Outgoing) -> int:
    """Of the deltas as they are stored: about what a packed reply has."""
    sent = len(outgoing.sent)
    return store_size(snapshot) * sent // snapshot.changelog.count if sent else 0


def store_size(snapshot: Snapshot) -> int:
    """Worked out once for each snapshot."""
    size = _sizes.get(snapshot)
    if size is None:
        size = _sizes[snapshot] = look_at_store(snapshot)
    return size


def look_at_store(snapshot: Snapshot) -> int:
    folder, size = snapshot.layout.store_path, 0
    for name in LOGS:
        with suppress(OSError):
            size += os.stat(f"{folder}/{name}").st_size
    files = size_of_few(folder) if file_count(snapshot) < FEW else None
    return size * ALL_OF_LOGS if files is None else size + files


def size_of_few(store: str) -> int | None:
    """Of all files' histories; None where they are more than FEW, folders included."""
    folders = [f"{store}/{name}" for name in HISTORIES]
    size = seen = 0
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as found:
            for entry in found:
                seen += 1
                if seen > FEW:
                    return None
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    size += entry.stat(follow_symlinks=False).st_size
    return size


def file_count(snapshot: Snapshot) -> int:
    """About how many files the store has."""
    with suppress(OSError):
        return os.stat(f"{snapshot.layout.store_path}/fncache").st_size // NAME_LENGTH
    return 0


NAME_LENGTH: Final = 32  # bytes of one line in fncache, about
