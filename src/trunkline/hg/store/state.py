"""The files that a snapshot is made of: their bytes, and the stamps that tell whether they moved.

Everywhere a journal says what was before the transaction in progress, that is what is read and
stamped. See `snapshot` for why.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from trunkline.hg.store.changelog import Changelog, cut_changelog, parse_changelog
from trunkline.hg.store.journal import Journal, read_or_empty
from trunkline.hg.store.requirements import Layout
from trunkline.hg.store.stamp import Stamp, read_stamp

# Files that decide which obsolete changesets are hidden, read by `visibility`. In `.hg`.
VISIBILITY_FILES: Final = ("/dirstate", "/localtags", "/merge/state2", "/merge/state")

DIRSTATE_PARENTS: Final = 40  # bytes from the start
DIRSTATE_V2_PARENTS: Final = 76


class Moment(NamedTuple):
    """What is compared to know whether anything moved."""

    changelog: tuple[int | None, ...] | Stamp | None
    obsstore: tuple[int | None, ...] | Stamp | None
    phaseroots: Stamp | None
    bookmarks: Stamp | None
    visibility: tuple[Stamp | None, ...]


class StateFiles(NamedTuple):
    """The bytes of all that decides, beside the changelog, what may be seen."""

    phaseroots: bytes
    bookmarks: bytes
    obsstore: bytes
    parents: bytes
    local_tags: bytes
    merge: bytes
    old_merge: bytes


def read_state_files(layout: Layout, journal: Journal) -> StateFiles:
    """Raises: StoreError."""
    store, hg_path = layout.store_path, layout.hg_path
    parents = DIRSTATE_V2_PARENTS if "dirstate-v2" in layout.requirements else DIRSTATE_PARENTS
    return StateFiles(
        read_or_empty(current_path(store, "phaseroots", journal)),
        read_or_empty(bookmarks_path(layout, journal)),
        read_or_empty(store + "/obsstore", journal.lengths.get("obsstore")),
        read_or_empty(hg_path + "/dirstate", parents),
        read_or_empty(hg_path + "/localtags"),
        read_or_empty(hg_path + "/merge/state2"),
        read_or_empty(hg_path + "/merge/state"),
    )


def read_moment(layout: Layout, journal: Journal) -> Moment:
    """Raises: StoreError."""
    store = layout.store_path
    return Moment(
        stamp_changelog(store, journal),
        stamp_appended(store + "/obsstore", journal.lengths.get("obsstore")),
        read_stamp(current_path(store, "phaseroots", journal)),
        read_stamp(bookmarks_path(layout, journal)),
        tuple(read_stamp(layout.hg_path + name) for name in VISIBILITY_FILES),
    )


def stamp_changelog(store: str, journal: Journal) -> tuple[int | None, ...] | Stamp | None:
    if "00changelog.i" in journal.backups:
        return read_stamp(current_path(store, "00changelog.i", journal))
    index, data = journal.lengths.get("00changelog.i"), journal.lengths.get("00changelog.d")
    if index is None and data is None:
        return read_stamp(store + "/00changelog.i")
    stamp = read_stamp(store + "/00changelog.i")
    return (None if stamp is None else stamp.inode, index, data)


def stamp_appended(path: str, cut: int | None) -> tuple[int | None, ...] | Stamp | None:
    stamp = read_stamp(path)
    return stamp if cut is None else (None if stamp is None else stamp.inode, cut)


def current_path(folder: str, name: str, journal: Journal) -> str:
    """Where to find what a file held before the transaction in progress."""
    path = f"{folder}/{name}"
    backup = journal.backups.get(name)
    if not backup:
        return path
    # A backup that isn't here: of a share's own bookmarks; or the transaction has just ended,
    # which the stamps tell.
    backup_path = f"{folder}/{backup}"
    return backup_path if os.path.exists(backup_path) else path


def bookmarks_path(layout: Layout, journal: Journal) -> str:
    folder, name = os.path.split(layout.bookmarks_path)
    return current_path(folder, name, journal) if journal.backups else layout.bookmarks_path


def read_changelog(store: str, journal: Journal, previous: Changelog | None) -> Changelog:
    """Raises: StoreError."""
    path = store + "/00changelog.i"
    is_replaced = "00changelog.i" in journal.backups
    cut = None if is_replaced else journal.lengths.get("00changelog.i")
    data = read_or_empty(current_path(store, "00changelog.i", journal), cut)
    changelog = parse_changelog(data, path, previous)
    data_cut = journal.lengths.get("00changelog.d")
    if cut is None and data_cut is not None and not is_replaced:
        offsets = changelog.index.offsets
        changelog = cut_changelog(changelog, int(offsets.searchsorted(data_cut)))
    return changelog
