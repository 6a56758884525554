"""A changegroup: changesets, manifests and files as deltas, in one stream of large blocks.

Wire:   the changelog's group, the manifests' group, then for each file its path and its group; an
        empty chunk ends each group and, at the end, the list of files. Groups are in the order of
        storage, so that a parent and a delta's base come before what needs them.
Source: hg 7.2.4, mercurial/helptext/internals/changegroups.txt and changegroup.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice
from operator import le, or_

import numpy as np
import numpy.typing as npt

from trunkline.errors import StoreError
from trunkline.hg.bundle.deltas import Texts
from trunkline.hg.bundle.groups import write_changesets, write_group
from trunkline.hg.bundle.logs import NO_DELTA, ColumnLog, RowLog, check_links
from trunkline.hg.bundle.outgoing import Outgoing
from trunkline.hg.bundle.packing import Packer
from trunkline.hg.bundle.scope import OUTSIDE, SENT, Scope, find_outside, make_scope
from trunkline.hg.bundle.shadows import Shadows
from trunkline.hg.bundle.version import END, VERSIONS, Version, format_path
from trunkline.hg.node import format_hex, parse_hex
from trunkline.hg.store.revlog import ColumnRevlog, Revlog
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.store.view import View


def changegroup(view: View, outgoing: Outgoing, version: bytes) -> Iterator[bytes]:
    """Raises: StoreError, also when the repository was stripped or rolled back meanwhile.

    Holds: the names of the files sent, some bytes a changeset, a block.
    """
    outside = find_outside(view.graph, outgoing.common, outgoing.heads)
    scope = make_scope(outgoing.sent, outside, view.snapshot.changelog.count)
    return Changegroup(view.snapshot, scope, VERSIONS[version]).blocks()


class Changegroup:
    """One changegroup being made."""

    def __init__(self, snapshot: Snapshot, scope: Scope, version: Version) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._version = version
        self._packer = Packer(version)
        self._changelog = snapshot.changelog
        self._files: set[bytes] = set()
        self._shadows = Shadows()
        # Manifests that an outside changeset brought first, in hex; those of them that are sent,
        # and the changeset that brings each to the client.
        self._outside_manifests = frozenset[bytes]()
        self._shadowed_manifests: dict[bytes, int] = {}

    def blocks(self) -> Iterator[bytes]:
        manifest = self._snapshot.manifest()
        self._outside_manifests = self._find_outside_manifests(manifest)
        yield from self._changesets()
        self._packer.add(END)
        self._find_candidates()
        yield from self._manifests(manifest)
        self._packer.add(END + self._version.after_manifests)
        for path in sorted(self._files):
            yield from self._file(path)
        self._packer.add(END)
        self._snapshot.check()
        yield self._packer.take()

    # -- changesets

    def _changesets(self) -> Iterator[bytes]:
        revs = self._scope.sent.tolist()
        texts = self._read(self._changelog.texts(revs), revs)
        yield from write_changesets(self._packer, self._version, self._changelog, revs, texts)

    def _read(self, texts: Iterable[bytes], revs: Iterable[int]) -> Iterator[bytes]:
        """The texts as they are, read for their files and manifests on their way out."""
        add_files, outside = self._files.update, self._outside_manifests
        for text, rev in zip(texts, revs, strict=True):
            end = text.find(b"\n\n")
            if end < 0:
                raise StoreError("a changeset's text can't be read", self._changelog.path)
            add_files(text[:end].split(b"\n")[3:])
            if outside and text[:40] in outside:
                self._shadowed_manifests.setdefault(text[:40], rev)
            yield text

    # -- manifests

    def _find_outside_manifests(self, manifest: ColumnRevlog) -> frozenset[bytes]:
        if not len(self._scope.outside):
            return frozenset()
        revs = np.flatnonzero(self._marks_of(manifest) == OUTSIDE).tolist()
        return frozenset(format_hex(manifest.node(rev)) for rev in revs)

    def _manifests(self, manifest: ColumnRevlog) -> Iterator[bytes]:
        revs = np.flatnonzero(self._marks_of(manifest) == SENT).tolist()
        links = dict(zip(revs, manifest.index.linkrevs[revs].tolist(), strict=True))
        for text, link in self._shadowed_manifests.items():
            rev = manifest.rev(parse_hex(text))
            if rev is not None:
                links[rev] = link
        revs = sorted(links)
        log = ColumnLog(manifest)
        watch = self._shadows.watch if self._shadows else None
        if watch and not is_ascending([links[rev] for rev in revs]):
            self._read_manifests(log, links)
            watch = None
        yield from write_group(
            self._packer,
            self._version,
            log,
            revs,
            [links[rev] for rev in revs],
            self._changelog,
            is_whole=len(revs) == manifest.count,
            watch=watch,
        )

    def _read_manifests(self, log: ColumnLog, links: dict[int, int]) -> None:
        """Look for shadows in whole texts: a delta against a later changeset's manifest, as some
        old servers left them, doesn't tell all that its own changeset brings.
        """
        texts = Texts(log.revlog)
        for rev in sorted(links):
            self._shadows.look(texts.text(rev), True, links[rev])

    def _marks_of(self, manifest: ColumnRevlog) -> npt.NDArray[np.uint8]:
        links = manifest.index.linkrevs
        if len(links):
            ends = int(links.min()), int(links.max())
            check_links(ends, self._changelog, manifest.path)
        return self._scope.column()[links]

    # -- files

    def _find_candidates(self) -> None:
        """File revisions that outside changesets brought, of files that sent ones touched."""
        if not len(self._scope.outside):
            return
        files: Iterable[bytes] = self._files
        if len(self._scope.outside) < len(self._scope.sent):
            files = self._files_outside() & self._files
        marks = self._scope.marks
        for path in files:
            revlog = self._filelog(path)
            for link, row in zip(self._links_of(revlog), revlog.rows(), strict=True):
                if marks[link] == OUTSIDE:
                    self._shadows.add(path, row[7])

    def _files_outside(self) -> set[bytes]:
        files: set[bytes] = set()
        for text in self._changelog.texts(self._scope.outside.tolist()):
            files.update(text[: text.find(b"\n\n")].split(b"\n")[3:])
        return files

    def _file(self, path: bytes) -> Iterator[bytes]:
        revlog = self._filelog(path)
        links = self._links_of(revlog)
        revs: list[int] | range = range(len(links))
        found = self._shadows.found(path)
        if not self._scope.is_whole:
            revs = self._choose(links)
        if found:
            revs, links = add_found(revlog, revs, links, found)
        if not revs:
            return
        self._packer.add(format_path(path))
        is_whole = len(revs) == revlog.count
        if is_whole and not found and self._version.has_base and not has_odd(revlog):
            yield from self._packer.whole_filelog(revlog, self._changelog)
        else:
            links = [links[rev] for rev in revs]
            yield from write_group(
                self._packer, self._version, RowLog(revlog), revs, links, self._changelog, is_whole
            )
        self._packer.add(END)

    def _choose(self, links: list[int]) -> list[int]:
        marks = self._scope.marks
        return [rev for rev, link in enumerate(links) if marks[link] == SENT]

    def _filelog(self, path: bytes) -> Revlog:
        """Raises: StoreError for a file that a changeset touched and that isn't there."""
        filelog = self._snapshot.filelog(path)
        if filelog is None or not filelog.count:
            raise StoreError("empty or missing file data", path.decode("utf-8", "surrogateescape"))
        return filelog

    def _links_of(self, revlog: Revlog) -> list[int]:
        links = [row[4] for row in revlog.rows()]
        check_links(links, self._changelog, revlog.path)
        return links


def add_found(
    revlog: Revlog, revs: Iterable[int], links: list[int], found: dict[bytes, int]
) -> tuple[list[int], list[int]]:
    """The revisions in `found` too, and the links of all of them with those of `found`."""
    links = links.copy()
    chosen = set(revs)
    for rev, row in enumerate(revlog.rows()):
        if row[7] in found:
            links[rev] = found[row[7]]
            chosen.add(rev)
    return sorted(chosen), links


def has_odd(revlog: Revlog) -> bool:
    """Any revision that no delta may be made of?"""
    return bool(reduce(or_, [row[0] for row in revlog.rows()]) & NO_DELTA)


def is_ascending(numbers: list[int]) -> bool:
    return all(map(le, numbers, islice(numbers, 1, None)))
