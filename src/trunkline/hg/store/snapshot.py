"""One consistent state of a repository, read without taking Mercurial's locks.

Why what we read is one state
-----------------------------
How a transaction writes (hg 7.2.4, mercurial/transaction.py, changelog.py, phases.py,
bookmarks.py, obsolete.py):

 1. `store/journal` is made. Each append-only file is named there, with its length, before it is
    appended to: filelogs, 00manifest, 00changelog.d, obsstore, and 00changelog.i (whose new
    entries are held back, or stand in 00changelog.i.a).
 2. On close: a hardlink of each file that is to be replaced is made and named in
    `journal.backupfiles`; phaseroots is replaced; the held back entries are appended to
    00changelog.i (or it is replaced by 00changelog.i.a); indexes of revlogs that have outgrown
    their inline form are renamed into place; bookmarks and dirstate are replaced.
 3. `journal` is renamed to `undo`: the transaction is done. (After a failure everything is first
    put back, then `journal` removed.)

A strip names 00changelog.d and .i, the manifest and the filelogs with the lengths to come in the
journal, then cuts them in that order, then goes on as above.

So a journal splits time. While there is one we read what was before: 00changelog.i and obsstore
to the lengths it gives, phaseroots and bookmarks from their backups. (For a strip: what will be
after.) Nobody is told of a changeset that may yet be rolled back, and no changeset is seen while
the index of a file it touches still waits to be renamed. When the journal goes, all is in place.

Each file is stamped (inode, size, mtime) before and after all of them are read, and the journal
read on both sides too; equal stamps say that nothing moved in between, so that all we have read
was on disk together at one moment. Else we try again, after longer and longer pauses. The parts
of a stamp that move while a file is appended to beyond its cut are left out, so that a long push
doesn't keep readers out.

Filelogs and the manifest aren't part of this; they are opened later. They hold at least what the
changelog of the snapshot knows, what they hold in addition comes last and has link revisions
past the snapshot's end, and it is ignored. Only a strip or `hg rollback` takes something away;
`check` finds that out, because the changelog is cut before any other index is. It must be called
after the last read, before the last byte goes out.

Weak spots: `hg rollback` (deprecated) plays `undo` back without a journal, and even leaves no
phaseroots for a moment; and between a strip and its putting back what it cut too much there is no
journal either. So while the store is locked and has no journal we wait, up to PATIENCE seconds,
when the changelog has lost changesets that the last snapshot had, or when phaseroots or bookmarks
look like a copy, not complete yet, of their `undo` backup. A rollback, of a transaction given up
too, also puts back indexes that had outgrown their inline form, which takes them away for a
moment: see `journal.is_being_restored`.

A secret changeset is never seen as draft: its phase root is written before it is, by the same
transaction, and a strip that drops the root has cut the changeset first, which shows in the
stamps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from weakref import ReferenceType, ref

from trunkline.errors import StoreError
from trunkline.hg.node import Node
from trunkline.hg.store.bookmarks import parse_bookmarks
from trunkline.hg.store.changelog import Changelog, cut_changelog, parse_changelog
from trunkline.hg.store.journal import (
    NO_JOURNAL,
    Journal,
    Touch,
    is_locked,
    read_journal,
    read_or_empty,
    read_touch,
)
from trunkline.hg.store.obsmarkers import ObsMarkers
from trunkline.hg.store.paths import encoder, path_encoding
from trunkline.hg.store.phases import Phases, known_roots, parse_roots
from trunkline.hg.store.requirements import Layout
from trunkline.hg.store.revlog import ColumnRevlog, Revlog, open_columns, open_rows
from trunkline.hg.store.stamp import Stamp, read_stamp

if TYPE_CHECKING:
    from trunkline.hg.store.repository import Repository
    from trunkline.hg.store.view import View

R = TypeVar("R", bound=Revlog)

PATIENCE: Final = 2.0  # seconds until a store that keeps moving is given up
FIRST_PAUSE: Final = 0.001  # seconds; each next one is twice as long
SECOND_LOOKS: Final = 3  # at a file that ends within an entry though nobody seems to write it
LONGEST_PAUSE: Final = 0.1  # seconds

# Files that decide which obsolete changesets are hidden, read by `visibility`. In `.hg`.
VISIBILITY_FILES: Final = ("/dirstate", "/localtags", "/merge/state2", "/merge/state")

# By Mercurial from 6.4 on, and before.
UNDO_BACKUPS: Final = ("undo.backup.%s.bck", "undo.backup.%s", "undo.%s")

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


class Moved(Exception):
    """Something was written while we read."""


class Snapshot:
    """One state of a repository; may be used from any number of threads."""

    def __init__(
        self,
        repository: Repository,
        moment: Moment,
        changelog: Changelog,
        files: StateFiles,
    ) -> None:
        self.repository = repository
        self.layout: Layout = repository.layout
        self.changelog = changelog
        self._moment = moment
        self._files = files
        self._encode = encoder(path_encoding(self.layout.requirements))
        self._store_prefix = self.layout.store_path + "/"
        self._views: dict[str | None, View] = {}
        self._lock = Lock()
        self._manifest: ReferenceType[ColumnRevlog] | None = None

    @cached_property
    def phases(self) -> Phases:
        roots = parse_roots(self._files.phaseroots, self._store_prefix + "phaseroots")
        index = self.changelog.index
        return Phases(known_roots(roots, self.changelog), index.p1, index.p2)

    @cached_property
    def bookmarks(self) -> Mapping[bytes, Node]:
        """By name; without those whose changeset isn't here."""
        return {
            name: node
            for name, node in parse_bookmarks(self._files.bookmarks).items()
            if self.changelog.rev(node) is not None
        }

    @cached_property
    def obsmarkers(self) -> ObsMarkers:
        return ObsMarkers(self._files.obsstore, self._store_prefix + "obsstore")

    @cached_property
    def key(self) -> bytes:
        """32 bytes that differ where changesets, phases, bookmarks, markers or what hides
        changesets do. The same for the same state in another process, or after a restart.
        """
        digest = sha256(self.changelog.index.raw)
        for part in self._files:
            digest.update(b"%d\n" % len(part))
            digest.update(part)
        return digest.digest()

    def is_of(self, changelog: Changelog, files: StateFiles) -> bool:
        return self.changelog is changelog and self._files == files

    def move_to(self, moment: Moment) -> None:
        """Files were written, but they say the same."""
        self._moment = moment

    def manifest(self) -> ColumnRevlog:
        """Opened when asked for and let go with the last user: it is large, and seldom needed."""
        with self._lock:
            manifest = None if self._manifest is None else self._manifest()
            if manifest is None:
                manifest = self._open_manifest()
                self._manifest = ref(manifest)
            return manifest

    def _open_manifest(self) -> ColumnRevlog:
        path, name = self._store_prefix + "00manifest.i", b"00manifest.i"
        count = self.changelog.count
        manifest = open_if_there(open_columns, path, count)
        if manifest is None or not manifest.is_sound():
            manifest = reopen(self.layout.store_path, name, open_columns, path, count)
        if manifest is None:
            if count:
                raise StoreError("no manifest", path)
            return Changelog(path, self.changelog.index)
        return manifest

    def filelog(self, path: bytes) -> Revlog | None:
        """The revisions of one tracked file; None when it never had any. Raises: StoreError."""
        name = b"data/%b.i" % path
        where = self._store_prefix + self._encode(name).decode("ascii")
        filelog = open_if_there(open_rows, where, self.changelog.count)
        if filelog is None or not filelog.is_sound():
            return reopen(self.layout.store_path, name, open_rows, where, self.changelog.count)
        return filelog

    def view(self, name: str | None) -> View:
        """What may be seen under one of Mercurial's filter names ("served", "visible" ...)."""
        view = self._views.get(name)
        if view is None:
            from trunkline.hg.store.view import View

            with self._lock:
                view = self._views.setdefault(name, View(self, name))
        return view

    def is_current(self) -> bool:
        """Whether the disk still says the same; costs a dozen stats."""
        try:
            journal = read_journal(self.layout.store_path)
            return read_moment(self.layout, journal) == self._moment
        except StoreError:
            return False

    def check(self) -> None:
        """Make sure that no changeset of this snapshot has been taken away since.

        What was added meanwhile doesn't matter. Raises: StoreError.
        """
        path, index = self.changelog.path, self.changelog.index
        if read_stamp(path) == self._moment.changelog:
            return
        data = read_or_empty(path, None if index.is_inline else len(index.raw))
        now = parse_changelog(data, path)
        if not goes_on_from(now, self.changelog):
            raise StoreError("changesets were stripped while they were being read", path)


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


def pauses() -> Iterator[float]:
    """Seconds to wait between attempts: PATIENCE in all."""
    deadline = time.monotonic() + PATIENCE
    pause = FIRST_PAUSE
    while time.monotonic() < deadline:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE)


def open_if_there(opener: Callable[[str, int], R], path: str, count: int) -> R | None:
    """Raises: StoreError."""
    try:
        return opener(path, count)
    except FileNotFoundError:
        return None


def reopen(
    store: str, name: bytes, opener: Callable[[str, int], R], path: str, count: int
) -> R | None:
    """A revlog that was found missing or cut: it may be so, be written, or be put back just now.

    Raises: StoreError when it ends within an entry and nobody writes it, or isn't put back.
    """
    untouched = 0  # times that nobody seemed to write it
    for pause in pauses():
        touch = read_touch(store, name)
        revlog = open_if_there(opener, path, count)
        if revlog is not None and revlog.is_sound():
            return revlog
        is_cut = revlog is not None and revlog.index.is_cut
        if touch is Touch.APPEND or (touch is Touch.NONE and not is_cut):
            return revlog
        untouched += touch is Touch.NONE
        if untouched > SECOND_LOOKS:
            break
        time.sleep(pause)
    raise StoreError("the file isn't there, or ends within an entry", path)


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
    if previous is not None and previous.is_of(changelog, files):
        previous.move_to(before)
        return previous
    return Snapshot(repository, before, changelog, files)


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


def goes_on_from(changelog: Changelog, older: Changelog) -> bool:
    """Whether it has all changesets of the older one. The header may be of another form."""
    return changelog.index.raw[4:].startswith(older.index.raw[4:])


def is_half_copy(path: str, data: bytes) -> bool:
    """Whether `data` is what a copy of the file's `undo` backup looks like on the way."""
    folder, name = os.path.split(path)
    for pattern in UNDO_BACKUPS:
        backup = read_or_empty(f"{folder}/{pattern % name}")
        if len(data) < len(backup) and backup.startswith(data):
            return True
    return False


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
