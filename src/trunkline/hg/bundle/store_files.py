"""Which files of a store make a clone of one snapshot, and how many bytes of each.

No lock is taken, so the store may be written to meanwhile; nothing is trusted that can't be seen:

- Names are those of `fncache`: it is written before a transaction ends, and no snapshot has
  changesets of one that hasn't ended.
- Sizes are taken by `stat`. When the store was *quiet* -- no journal, the changelog exactly the
  snapshot's, and the folder's mtime and the changelog's stat unmoved from before to after -- no
  transaction was at work, and the sizes are the snapshot's.
- Otherwise each revlog that may have grown since the snapshot is cut at its last revision of a
  changeset that the snapshot has. Those are the ones in the journal, and the ones whose ctime is
  not before the time that the changelog was last written: all that a later transaction writes is
  newer than that. (An mtime proves nothing: where a file of the same second is replaced or
  appended to, Mercurial sets it to a second after what it was.)

Whatever is appended later stands behind the bytes that were counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from trunkline.errors import StoreError
from trunkline.hg.bundle.held_files import (
    Held,
    cache_files,
    nodemap_files,
    obsstore_file,
    phaseroots_file,
)
from trunkline.hg.bundle.revlog_cut import NOTHING, Cut, cut_revlog
from trunkline.hg.bundle.store_folder import (
    CHANGELOG,
    DATA,
    INDEX,
    INLINE,
    Files,
    StoreFolder,
    StoreState,
)
from trunkline.hg.bundle.store_names import StoreNames, store_names
from trunkline.hg.store.index import ENTRY_LENGTH
from trunkline.hg.store.paths import encoder, path_encoding

if TYPE_CHECKING:
    from trunkline.hg.store.snapshot import Snapshot

_D: Final = ord("d")
MANIFEST: Final = StoreNames([b"00manifest.d", b"00manifest.i"], [b"00manifest.d", b"00manifest.i"])


class Wanted(NamedTuple):
    """What a stream holds besides the revlogs."""

    has_phaseroots: bool
    has_obsstore: bool
    has_caches: bool


REVLOGS_ONLY: Final = Wanted(False, False, False)


@dataclass(frozen=True, slots=True)
class Group:
    """What stands together in a v3 stream: one held file, or a revlog and its nodemap."""

    held: tuple[Held, ...] = ()
    files: Files = field(default_factory=Files)

    @property
    def count(self) -> int:
        return len(self.held) + len(self.files.names)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a clone in the order of Mercurial's own streams: `revlogs`, then `groups`.

    `encode` gives the path of an unencoded name below the folder.
    """

    folder: StoreFolder
    encode: Callable[[bytes], bytes]
    revlogs: Files
    groups: list[Group]

    @property
    def count(self) -> int:
        return len(self.revlogs.names) + sum(group.count for group in self.groups)

    @property
    def size(self) -> int:
        """Units: bytes, of the files alone."""
        return sum(self.revlogs.sizes) + sum(
            sum(group.files.sizes) + sum(held.size for held in group.held) for group in self.groups
        )


def list_store(snapshot: Snapshot, wanted: Wanted = REVLOGS_ONLY) -> Listing:
    """Raises: StoreError, also when the disk no longer holds the snapshot."""
    return Lister(snapshot).list(wanted)


@dataclass(slots=True)
class Found:
    """Revlogs with their sizes on disk, and the places in `files` of those that may have grown.

    `missing`: names of indexes that aren't there.
    """

    files: Files
    grown: list[int]
    missing: list[bytes] = field(default_factory=list)


class Lister:
    """One listing being made."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._changesets = snapshot.changelog.count
        self._layout = snapshot.layout
        self._encode = encoder(path_encoding(self._layout.requirements))
        self._folder = StoreFolder(self._layout.store_path)

    def list(self, wanted: Wanted) -> Listing:
        folder = self._folder
        before = folder.state()
        journal = folder.journal()
        changelog = self._cut(CHANGELOG)
        if changelog.revisions != self._changesets:
            raise StoreError(
                "fewer changesets than the snapshot has",
                folder.join(CHANGELOG),
                changelog.index_size,
            )
        is_at_snapshot = before.changelog is None or before.changelog[1] == changelog.index_size
        # A changelog that has grown already doesn't tell any more since when.
        since = written_at(before) if is_at_snapshot else 0
        names = store_names(folder, self._layout.requirements)
        folder.refuse_links(names.paths)
        found = find(folder, names, since)
        if found.missing:
            refuse_missing(self._snapshot, found.missing)
        manifest = find(folder, MANIFEST, since)
        if not (is_at_snapshot and is_quiet(before, folder.state())):
            touched = {name[:-2] for name in journal}
            found.files = self._cut_grown(found, touched)
            manifest.files = self._cut_grown(manifest, touched)
        groups = [
            *self._held_before(wanted),
            self._top(b"00manifest", manifest.files),
            self._top(b"00changelog", self._rows(CHANGELOG, CHANGELOG, changelog)),
            *self._caches(wanted),
        ]
        self._snapshot.check()
        return Listing(
            folder, self._encode, found.files, [group for group in groups if group.count]
        )

    def _held_before(self, wanted: Wanted) -> Iterable[Group]:
        phaseroots = wanted.has_phaseroots and phaseroots_file(self._folder, self._snapshot)
        obsstore = wanted.has_obsstore and obsstore_file(self._snapshot)
        return [Group((held,)) for held in (phaseroots, obsstore) if held]

    def _caches(self, wanted: Wanted) -> Iterable[Group]:
        if not wanted.has_caches:
            return ()
        return [Group((held,)) for held in cache_files(self._layout.source_path + "/cache")]

    def _top(self, revlog: bytes, files: Files) -> Group:
        if not files.kinds or files.kinds[-1] == INLINE:
            return Group((), files)
        revisions = files.sizes[-1] // ENTRY_LENGTH
        return Group(nodemap_files(self._folder, revlog, revisions), files)

    def _cut_grown(self, found: Found, touched: set[bytes]) -> Files:
        """The files again, with those cut that may have grown."""
        grown = set(found.grown)
        kept = Files()
        rows = zip(
            found.files.names, found.files.paths, found.files.sizes, found.files.kinds, strict=True
        )
        for place, (name, path, size, kind) in enumerate(rows):
            if place not in grown and (not touched or name[:-2] not in touched):
                kept.add(name, path, size, kind)
            elif kind != DATA:
                kept.extend(self._rows(name, path, self._cut(path)))
        return kept

    def _cut(self, path: bytes) -> Cut:
        try:
            descriptor = self._folder.open(path)
        except FileNotFoundError:
            return NOTHING
        except OSError as error:
            raise self._folder.fault(path, error) from None
        try:
            return cut_revlog(descriptor, self._changesets, self._folder.join(path))
        finally:
            os.close(descriptor)

    def _rows(self, name: bytes, path: bytes, cut: Cut) -> Files:
        """The one or two files of a revlog that was cut."""
        files = Files()
        if not cut.revisions:
            return files
        if cut.data_size is None:
            files.add(name, path, cut.index_size, INLINE)
        else:
            data_name = name[:-1] + b"d"
            files.add(data_name, self._encode(data_name), cut.data_size, DATA)
            files.add(name, path, cut.index_size, INDEX)
        return files


def find(folder: StoreFolder, listed: StoreNames, since: int) -> Found:
    """The files that are there. What was changed at `since` (ns) or later may have grown."""
    stat, descriptor = os.stat, folder.descriptor
    files, grown, missing = Files(), [], []
    names, paths, sizes, kinds = files.names, files.paths, files.sizes, files.kinds
    path = data_name = data_path = b""
    data: os.stat_result | None = None
    try:
        for name, path in zip(listed.names, listed.paths, strict=True):
            try:
                file = stat(path, dir_fd=descriptor)
            except (FileNotFoundError, NotADirectoryError):
                data = None
                if name[-1] != _D:
                    missing.append(name)
                continue
            if name[-1] == _D:
                data_name, data_path, data = name, path, file
                continue
            size = file.st_size
            if size < ENTRY_LENGTH:
                data = None
                continue
            is_grown = file.st_ctime_ns >= since
            if data is not None:
                if data_name[:-1] == name[:-1]:
                    names.append(data_name)
                    paths.append(data_path)
                    sizes.append(data.st_size)
                    kinds.append(DATA)
                    if is_grown or data.st_ctime_ns >= since:
                        is_grown = True
                        grown.append(len(names) - 1)
                    kinds.append(INDEX)
                else:
                    kinds.append(INLINE)
                data = None
            else:
                kinds.append(INLINE)
            names.append(name)
            paths.append(path)
            sizes.append(size)
            if is_grown:
                grown.append(len(names) - 1)
    except OSError as error:
        raise folder.fault(path, error) from None
    return Found(files, grown, missing)


def refuse_missing(snapshot: Snapshot, names: Iterable[bytes]) -> None:
    """A name without a file may be left from a strip, or be of a transaction that is just at work,
    or was given up. Not when a changeset of the snapshot touched the file. Raises: StoreError.
    """
    paths = {name[len(b"data/") : -len(b".i")] for name in names if name.startswith(b"data/")}
    changelog = snapshot.changelog
    for text in changelog.texts(range(changelog.count)):
        lost = paths.intersection(text[: text.find(b"\n\n")].split(b"\n")[3:])
        if lost:
            raise StoreError("a changeset's file isn't there", snapshot.filelog_path(min(lost)))


def is_quiet(before: StoreState, after: StoreState) -> bool:
    """That no transaction ran from `before` to `after`."""
    return before == after and not before.is_journal_there


def written_at(state: StoreState) -> int:
    """When the changelog was last written, at the latest (ns).

    Mercurial may move an mtime into the future, so that a change within one second is seen; and a
    new link to the file moves its ctime.
    """
    return 0 if state.changelog is None else min(state.changelog[2], state.changelog[3])
