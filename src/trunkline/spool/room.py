"""What the spool holds, and what has to go: the least recently used first, never what is in use."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from trunkline.spool.lease import LEASE_SECONDS, is_free, try_hold
from trunkline.spool.place import Place

KINDS = frozenset({"part", "whole", "uses"})
CALM_SECONDS = 5.0  # since the last change, before a file that nobody holds counts as left behind
# The same where locks prove nothing. Readers touch what they use every RENEW_SECONDS.
FAR_CALM_SECONDS = 10 * LEASE_SECONDS


@dataclass(frozen=True, slots=True)
class Limits:
    """Units: bytes, and seconds since the last use."""

    bytes: int
    free_bytes: int
    age_seconds: int


@dataclass(frozen=True, slots=True)
class Entry:
    """`last_use` is a time of the file system's. `is_whole` False: it is being made, or left."""

    name: str
    size: int
    uses: int
    last_use: float
    is_whole: bool


def list_entries(place: Place) -> list[Entry]:
    """The least recently used first. Raises: OSError."""
    found: dict[str, dict[str, os.stat_result]] = defaultdict(dict)
    with os.scandir(place.folder) as files:
        for file in files:
            name, _, kind = file.name.partition(".")
            if kind in KINDS:
                with suppress(FileNotFoundError):
                    found[name][kind] = file.stat(follow_symlinks=False)
    entries = []
    for name, kinds in found.items():
        data = kinds.get("whole") or kinds.get("part")
        uses = kinds.get("uses")
        last = max(stat.st_mtime for stat in kinds.values())
        size, count = (0 if stat is None else stat.st_size for stat in (data, uses))
        entries.append(Entry(name, size, count, last, "whole" in kinds))
    return sorted(entries, key=lambda entry: entry.last_use)


def make_room(place: Place, limits: Limits, wanted: int = 0) -> bool:
    """True: `wanted` more bytes have room. Raises: OSError."""
    if wanted > limits.bytes:
        return False
    now = place.now()
    entries = list_entries(place)
    total = sum(entry.size for entry in entries)
    for entry in entries:
        is_old = now - entry.last_use > limits.age_seconds
        is_idle = entry.is_whole and (is_old or not fits(place, limits, total, wanted))
        if (is_idle or is_left(place, entry, now)) and remove(place, entry, now):
            total -= entry.size
    return fits(place, limits, total, wanted)


def fits(place: Place, limits: Limits, total: int, wanted: int) -> bool:
    """Raises: OSError."""
    disk = os.statvfs(place.folder)
    free = disk.f_bavail * disk.f_frsize
    return total + wanted <= limits.bytes and free - wanted >= limits.free_bytes


def is_left(place: Place, entry: Entry, now: float) -> bool:
    """Nobody makes it any more."""
    if entry.is_whole or now - entry.last_use < calm_seconds(place):
        return False
    if not place.is_local:
        return True
    try:
        descriptor = os.open(place.part(entry.name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True  # only the count of uses is left
    try:
        return is_free(descriptor)
    finally:
        os.close(descriptor)


def remove(place: Place, entry: Entry, now: float) -> bool:
    """False: it is in use. Raises: OSError."""
    with unused(place, entry, now) as is_unused:
        if not is_unused:
            return False
        kinds = (place.whole,) if entry.is_whole else (place.part,)
        for path in (*(kind(entry.name) for kind in kinds), place.uses(entry.name)):
            with suppress(FileNotFoundError):
                os.unlink(path)
    return True


@contextmanager
def unused(place: Place, entry: Entry, now: float) -> Iterator[bool]:
    """Whether nobody reads it; and nobody begins to, meanwhile."""
    if not place.is_local:
        yield now - entry.last_use >= calm_seconds(place)
        return
    try:
        descriptor = os.open(place.uses(entry.name), os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield True
        return
    try:
        yield try_hold(descriptor)
    finally:
        os.close(descriptor)


def calm_seconds(place: Place) -> float:
    return CALM_SECONDS if place.is_local else FAR_CALM_SECONDS


def clear(place: Place) -> list[Entry]:
    """Remove all that isn't in use; what was removed. Raises: OSError."""
    now = place.now()
    return [
        entry
        for entry in list_entries(place)
        if (entry.is_whole or is_left(place, entry, now)) and remove(place, entry, now)
    ]
