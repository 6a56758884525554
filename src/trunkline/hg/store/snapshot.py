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

import time
from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import ReferenceType, ref

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, Node
from trunkline.hg.store.bookmarks import parse_bookmarks
from trunkline.hg.store.changelog import Changelog, goes_on_from, parse_changelog
from trunkline.hg.store.index import ColumnIndex, Header
from trunkline.hg.store.journal import Touch, read_journal, read_or_empty, read_touch
from trunkline.hg.store.links import Folders
from trunkline.hg.store.obsmarkers import ObsMarkers
from trunkline.hg.store.paths import encoder, path_encoding
from trunkline.hg.store.patience import pauses
from trunkline.hg.store.phases import Phases, known_roots, parse_roots
from trunkline.hg.store.requirements import Layout
from trunkline.hg.store.revlog import ColumnRevlog, Revlog, open_columns, open_rows, open_sparse
from trunkline.hg.store.stamp import read_stamp
from trunkline.hg.store.state import Moment, StateFiles, read_moment
from trunkline.hg.store.working_copy import Parents, parse_parents, unresolved_sides

if TYPE_CHECKING:
    from trunkline.hg.store.repository import Repository
    from trunkline.hg.store.view import View

R = TypeVar("R", bound=Revlog)

SECOND_LOOKS: Final = 3  # at a file that ends within an entry though nobody seems to write it


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
        self._folders = Folders(self.layout.store_path)
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

    @property
    def parents(self) -> Parents:
        """What the working copy stood on."""
        return parse_parents(self._files.parents)

    @property
    def unresolved(self) -> list[Node]:
        """The two sides of a merge that wasn't finished. Raises: StoreError."""
        files = self._files
        return unresolved_sides(files.merge, files.old_merge, self.parents, self.layout.hg_path)

    @property
    def local_tags(self) -> bytes:
        """`.hg/localtags`, as it was."""
        return self._files.local_tags

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
            manifest = ColumnRevlog(path, ColumnIndex(b"", Header(False, True)))
        self._check_manifest(manifest)
        return manifest

    def _check_manifest(self, manifest: ColumnRevlog) -> None:
        """That it isn't cut, at the end of an entry. (Where no changeset has a file there is none.)

        Raises: StoreError.
        """
        changelog = self.changelog
        revs = range(changelog.count)
        for rev in revs[-1:] if manifest.count else revs:
            node = changelog.manifest_and_files(rev).manifest
            if node != NULL_NODE and manifest.index.raw.rfind(node) < 0:
                text = f"the manifest of changeset {rev} isn't there"
                raise StoreError(text, manifest.path, manifest.index.end)

    def filelog(self, path: bytes, is_sparse: bool = False) -> Revlog | None:
        """The revisions of one tracked file; None when it never had any. `is_sparse`: only few of
        them are wanted. Raises: StoreError.
        """
        name, where = b"data/%b.i" % path, self.filelog_path(path)
        opener = open_sparse if is_sparse else open_rows
        filelog = open_if_there(opener, where, self.changelog.count)
        if filelog is None or not filelog.is_sound():
            return reopen(self.layout.store_path, name, opener, where, self.changelog.count)
        return filelog

    def filelog_path(self, path: bytes) -> str:
        """Where the revisions of a tracked file are stored. Raises: StoreError."""
        encoded = self._encode(b"data/%b.i" % path)
        self._folders.check(encoded)
        return self._store_prefix + encoded.decode("ascii")

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
    end: int | None = None  # of what is whole in a file that is cut
    untouched = 0  # times that nobody seemed to write it
    for pause in pauses():
        touch = read_touch(store, name)
        revlog = open_if_there(opener, path, count)
        if revlog is not None and revlog.is_sound():
            return revlog
        is_cut = revlog is not None and revlog.index.is_cut
        end = revlog.index.end if revlog is not None and is_cut else None
        if touch is Touch.APPEND or (touch is Touch.NONE and not is_cut):
            return revlog
        untouched += touch is Touch.NONE
        if untouched > SECOND_LOOKS:
            break
        time.sleep(pause)
    if end is not None:
        raise StoreError("ends within an entry", path, end)
    raise StoreError("isn't there, or its data isn't", path)
