"""A changegroup: changesets, manifests and files as deltas, in one stream of large blocks.

Wire:   the changelog's group, the manifests' group, then for each file its path and its group; an
        empty chunk ends each group and, at the end, the list of files. Groups are in the order of
        storage, so that a parent and a delta's base come before what needs them.
Source: hg 7.2.4, mercurial/helptext/internals/changegroups.txt and changegroup.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import le
from typing import Final, NamedTuple

from trunkline.errors import StoreError
from trunkline.hg.bundle.deltas import Texts
from trunkline.hg.bundle.groups import Watch, write_changesets, write_group
from trunkline.hg.bundle.logs import ColumnLog, Log, make_log
from trunkline.hg.bundle.outgoing import Outgoing
from trunkline.hg.bundle.packing import Packer
from trunkline.hg.bundle.scope import OUTSIDE, SENT, Scope, find_outside, make_scope
from trunkline.hg.bundle.shadows import Shadows
from trunkline.hg.bundle.version import END, VERSIONS, Version, format_path
from trunkline.hg.node import format_hex, parse_hex
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.store.view import View

FEW: Final = 1000  # changesets that touch little of the files' histories


def changegroup(view: View, outgoing: Outgoing, version: bytes) -> Iterator[bytes]:
    """Raises: StoreError, also when the repository was stripped or rolled back meanwhile.

    Holds: the names of the files sent, some bytes a changeset, a block.
    """
    outside = find_outside(view.graph, outgoing.common, outgoing.heads)
    scope = make_scope(outgoing.sent, outside, view.snapshot.changelog.count)
    return Changegroup(view.snapshot, scope, VERSIONS[version]).blocks()


class Chosen(NamedTuple):
    """Revisions of one revlog to be sent, sorted, and the changesets that bring them."""

    revs: Sequence[int]
    links: Sequence[int]


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
        # Manifests that an outside changeset may have brought first, in hex (None: any); those of
        # them that are sent, and the changeset that brings each to the client.
        self._outside_manifests: frozenset[bytes] | None = frozenset()
        self._shadowed_manifests: dict[bytes, int] = {}

    def blocks(self) -> Iterator[bytes]:
        manifest = ColumnLog(self._snapshot.manifest(), self._changelog.count)
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
                raise self._changelog.fault_in_text(rev, "a changeset's text can't be read")
            add_files(text[:end].split(b"\n")[3:])
            if outside is None or text[:40] in outside:
                self._shadowed_manifests.setdefault(text[:40], rev)
            yield text

    # -- manifests

    def _find_outside_manifests(self, log: Log) -> frozenset[bytes] | None:
        if not len(self._scope.outside):
            return frozenset()
        if len(self._scope.sent) < len(self._scope.outside):
            return None
        revs = log.marked(self._scope.marks, OUTSIDE)
        return frozenset(format_hex(log.revlog.node(rev)) for rev in revs)

    def _manifests(self, log: Log) -> Iterator[bytes]:
        named: dict[bytes, int] = {
            parse_hex(text): link for text, link in self._shadowed_manifests.items()
        }
        chosen = self._choose(log, named)
        watch: Watch | None = self._shadows.watch if self._shadows else None
        if watch and not is_ascending(chosen.links):
            self._read_manifests(log, chosen)
            watch = None
        yield from self._group(log, chosen, watch)

    def _read_manifests(self, log: Log, chosen: Chosen) -> None:
        """Look for shadows in whole texts: a delta against a later changeset's manifest, as some
        old servers left them, doesn't tell all that its own changeset brings.
        """
        texts = Texts(log.revlog)
        for rev, link in zip(chosen.revs, chosen.links, strict=True):
            self._shadows.look(log.revlog, rev, texts.text(rev), True, link)

    # -- files

    def _find_candidates(self) -> None:
        """File revisions that outside changesets brought, of files that sent ones touched."""
        if not len(self._scope.outside):
            return
        files: Iterable[bytes] = self._files
        if len(self._scope.outside) < len(self._scope.sent):
            files = self._files_outside() & self._files
        for path in files:
            log = self._filelog(path)
            for rev in log.marked(self._scope.marks, OUTSIDE):
                self._shadows.add(path, log.revlog.node(rev))

    def _files_outside(self) -> set[bytes]:
        files: set[bytes] = set()
        for text in self._changelog.texts(self._scope.outside.tolist()):
            files.update(text[: text.find(b"\n\n")].split(b"\n")[3:])
        return files

    def _file(self, path: bytes) -> Iterator[bytes]:
        log, found = self._filelog(path), self._shadows.found(path)
        chosen = self._choose(log, found)
        if not chosen.revs:
            return
        self._packer.add(format_path(path))
        try:
            if self._is_plain(log, chosen, found):
                yield from self._packer.whole_filelog(log.revlog, self._changelog)
            else:
                yield from self._group(log, chosen)
        except IndexError:
            raise log.revlog.find_stray() from None
        self._packer.add(END)

    def _is_plain(self, log: Log, chosen: Chosen, found: Mapping[bytes, int]) -> bool:
        """Is it all of a filelog, as it is stored?"""
        is_all = len(chosen.revs) == log.revlog.count and not found
        return is_all and self._version.has_base and not log.is_odd()

    def _filelog(self, path: bytes) -> Log:
        """Raises: StoreError for a file that a changeset touched and that isn't there."""
        filelog = self._snapshot.filelog(path, is_sparse=len(self._scope.sent) <= FEW)
        if filelog is None or not filelog.count:
            where = self._snapshot.filelog_path(path)
            raise StoreError("no revisions of a file that a changeset touched", where)
        return make_log(filelog, self._changelog.count)

    # -- both

    def _choose(self, log: Log, shadowed: Mapping[bytes, int]) -> Chosen:
        """What sent changesets brought first, and what outside ones did of `shadowed`, to go as
        brought by the changesets named there.
        """
        if self._scope.is_whole:
            revs: Sequence[int] = range(log.revlog.count)
        else:
            revs = log.marked(self._scope.marks, SENT)
        links = log.linkrevs(revs)
        if shadowed:
            both = dict(zip(revs, links, strict=True))
            for node, link in shadowed.items():
                rev = log.revlog.rev(node)
                if rev is not None and rev >= 0 and self._is_outside(log, rev):
                    both[rev] = link
            revs = sorted(both)
            links = [both[rev] for rev in revs]
        return Chosen(revs, links)

    def _is_outside(self, log: Log, rev: int) -> bool:
        return self._scope.marks[log.linkrevs((rev,))[0]] == OUTSIDE

    def _group(self, log: Log, chosen: Chosen, watch: Watch | None = None) -> Iterator[bytes]:
        is_whole = len(chosen.revs) == log.revlog.count
        return write_group(
            self._packer,
            self._version,
            log,
            chosen.revs,
            chosen.links,
            self._changelog,
            is_whole,
            watch,
        )


def is_ascending(numbers: Sequence[int]) -> bool:
    return all(map(le, numbers, islice(numbers, 1, None)))
