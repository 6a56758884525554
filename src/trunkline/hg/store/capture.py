"""Taking a snapshot: read, see whether anything moved meanwhile, and if so again.

See `snapshot` for why what comes out is one state.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from trunkline.errors import StoreError
from trunkline.hg.store.changelog import Changelog, goes_on_from
from trunkline.hg.store.journal import (
    NO_JOURNAL,
    Journal,
    is_locked,
    read_journal,
    read_or_empty,
)
from trunkline.hg.store.patience import pauses
from trunkline.hg.store.requirements import Layout
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.store.stamp import read_stamp
from trunkline.hg.store.state import (
    Moment,
    StateFiles,
    read_changelog,
    read_moment,
    read_state_files,
)

if TYPE_CHECKING:
    from trunkline.hg.store.repository import Repository

# By Mercurial from 6.4 on, and before.
UNDO_BACKUPS: Final = ("undo.backup.%s.bck", "undo.backup.%s", "undo.%s")


class Moved(Exception):
    """Something was written while we read."""


def take(repository: Repository, previous: Snapshot | None) -> Snapshot:
    """The state of now. Raises: StoreError when the store won't hold still."""
    for pause in pauses():
        try:
            return attempt(repository, previous, is_last=False)
        except Moved:
            time.sleep(pause)
    try:
        return attempt(repository, previous, is_last=True)
    except Moved:
        path = repository.store_path
        raise StoreError("the store keeps changing under the reader", path) from None


def attempt(repository: Repository, previous: Snapshot | None, is_last: bool) -> Snapshot:
    """Raises: Moved, StoreError."""
    layout = repository.layout
    store = layout.store_path
    journal = read_journal(store)
    before = read_moment(layout, journal)
    changelog = read_changelog(store, journal, None if previous is None else previous.changelog)
    files = read_state_files(layout, journal)
    if read_moment(layout, read_journal(store)) != before:
        raise Moved
    if not is_last and is_half_way(layout, journal, changelog, files, previous):
        raise Moved
    if damage := find_damage(layout, changelog):
        refuse(layout, before, damage)
    if previous is None or previous.changelog is not changelog:
        changelog.check_parents()
    if previous is not None and previous.is_of(changelog, files):
        previous.move_to(before)
        return previous
    return Snapshot(repository, before, changelog, files)


def find_damage(layout: Layout, changelog: Changelog) -> StoreError | None:
    """What shows that changesets are lost, unless somebody is at work."""
    if changelog.index.is_cut:
        return StoreError("ends within an entry", changelog.path, changelog.index.file_length())
    if not changelog.count:
        manifest = read_stamp(layout.store_path + "/00manifest.i")
        if manifest is not None and manifest.size:
            return StoreError("no changesets, though there are manifests", changelog.path, 0)
    return None


def refuse(layout: Layout, before: Moment, damage: StoreError) -> None:
    """Nobody is at work who could complete the changelog or cut it back: it is damaged.

    Raises: StoreError; Moved when somebody just was at work.
    """
    store = layout.store_path
    journal = read_journal(store)
    if journal is not NO_JOURNAL or is_locked(store):
        return
    if read_moment(layout, journal) != before:
        raise Moved
    raise damage


def is_half_way(
    layout: Layout,
    journal: Journal,
    changelog: Changelog,
    files: StateFiles,
    previous: Snapshot | None,
) -> bool:
    """Whether a rollback or strip seems to be under way that no journal tells of."""
    store = layout.store_path
    if not is_locked(store):
        return False
    if previous is not None and not goes_on_from(changelog, previous.changelog):
        return True
    if journal is not NO_JOURNAL:
        return False
    return is_half_copy(store + "/phaseroots", files.phaseroots) or is_half_copy(
        layout.bookmarks_path, files.bookmarks
    )


def is_half_copy(path: str, data: bytes) -> bool:
    """Whether `data` is what a copy of the file's `undo` backup looks like on the way."""
    folder, name = os.path.split(path)
    for pattern in UNDO_BACKUPS:
        backup = read_or_empty(f"{folder}/{pattern % name}")
        if len(data) < len(backup) and backup.startswith(data):
            return True
    return False
