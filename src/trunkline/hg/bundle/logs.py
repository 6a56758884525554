"""A revlog as a changegroup wants it: revisions chosen by their changesets, heads packed in bulk.

Two forms with the same verbs, after the two forms of index: plain rows for small filelogs, numpy
columns for the changelog and the manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from trunkline.errors import StoreError
from trunkline.hg.bundle.version import FLAG_BYTES, Version
from trunkline.hg.node import NODE_LENGTH, NULL_NODE, NULL_REV
from trunkline.hg.store.index import ENTRY_LENGTH, NODE_AT, Row
from trunkline.hg.store.revlog import FLAG_CENSORED, FLAG_EXTSTORED, ColumnRevlog, Revlog

# The stored text isn't what its node names, so no delta is ever made from it or against it.
NO_DELTA: Final = FLAG_CENSORED | FLAG_EXTSTORED


def make_log(revlog: Revlog, changesets: int) -> Log:
    """Raises: StoreError."""
    if isinstance(revlog, ColumnRevlog):
        return ColumnLog(revlog, changesets)
    return RowLog(revlog, changesets)


def find_bad_link(revlog: Revlog, links: Iterable[int], changesets: int) -> StoreError:
    """For a revlog with a revision that says it belongs to no changeset."""
    rev, link = next((at, link) for at, link in enumerate(links) if not 0 <= link < changesets)
    return revlog.fault(rev, f"is of changeset {link}, which isn't there")


def comes_first(parents: npt.NDArray[np.int32]) -> bool:
    """Does each parent come before its revision?"""
    return bool(((parents >= NULL_REV) & (parents < np.arange(len(parents)))).all())


def pick_nodes(log: ColumnRevlog, revs: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """A row of 20 bytes for each of `revs`; zeros for -1."""
    entries = np.frombuffer(log.index.raw, np.uint8, log.count * ENTRY_LENGTH)
    picked = entries.reshape(-1, ENTRY_LENGTH)[revs, NODE_AT : NODE_AT + NODE_LENGTH]
    picked[revs < 0] = 0
    return picked


class Log(Protocol):
    """What the packer asks of a revlog; `revs` are sorted, and picked by the caller."""

    @property
    def revlog(self) -> Revlog: ...

    def marked(self, marks: bytes, mark: int) -> list[int]:
        """The revisions whose changesets have `mark` in `marks`, a byte for each changeset."""

    def linkrevs(self, revs: Sequence[int]) -> Sequence[int]: ...

    def bases(self, revs: Sequence[int]) -> list[int]:
        """What each stored chunk is a delta against, -1 for a full text."""

    def parents(self, revs: Sequence[int]) -> list[tuple[int, int]]: ...

    def flags(self, revs: Sequence[int]) -> list[int]: ...

    def is_odd(self) -> bool:
        """Any revision of which no delta may be made?"""

    def heads(
        self,
        version: Version,
        revs: Sequence[int],
        bases: Sequence[int],
        links: Sequence[int],
        changelog: ColumnRevlog,
    ) -> list[bytes]:
        """What stands between a revision's length and its delta."""


class RowLog:
    """A filelog; `changesets` is how many of them are known. Raises: StoreError."""

    __slots__ = ("_links", "_rows", "revlog")

    def __init__(self, revlog: Revlog, changesets: int) -> None:
        self.revlog = revlog
        self._rows: Sequence[Row] = revlog.rows()
        self._links = [row[4] for row in self._rows]
        if self._links and (min(self._links) < 0 or max(self._links) >= changesets):
            raise find_bad_link(revlog, self._links, changesets)

    def marked(self, marks: bytes, mark: int) -> list[int]:
        return [rev for rev, link in enumerate(self._links) if marks[link] == mark]

    def linkrevs(self, revs: Sequence[int]) -> list[int]:
        links = self._links
        return links if len(revs) == len(links) else [links[rev] for rev in revs]

    def bases(self, revs: Sequence[int]) -> list[int]:
        rows = self._rows
        if self.revlog.index.is_general_delta:
            return [-1 if (base := rows[rev][3]) == rev else base for rev in revs]
        return [-1 if rows[rev][3] == rev else rev - 1 for rev in revs]

    def parents(self, revs: Sequence[int]) -> list[tuple[int, int]]:
        rows = self._rows
        return [rows[rev][5:7] for rev in revs]

    def flags(self, revs: Sequence[int]) -> list[int]:
        rows = self._rows
        return [rows[rev][0] & 0xFFFF for rev in revs]

    def is_odd(self) -> bool:
        return bool(reduce(or_, [row[0] for row in self._rows], 0) & NO_DELTA)

    def heads(
        self,
        version: Version,
        revs: Sequence[int],
        bases: Sequence[int],
        links: Sequence[int],
        changelog: ColumnRevlog,
    ) -> list[bytes]:
        pack, flag_bytes, entries = version.head.pack, FLAG_BYTES, changelog.index.raw
        rows = self._rows
        names: list[bytes] = [row[7] for row in rows]
        names.append(NULL_NODE)
        return [
            pack(
                (row := rows[rev])[7],
                names[row[5]],
                names[row[6]],
                names[base],
                entries[(at := link * ENTRY_LENGTH + NODE_AT) : at + NODE_LENGTH],
                flag_bytes[row[0] & 0xFFFF],
            )
            for rev, base, link in zip(revs, bases, links, strict=True)
        ]


class ColumnLog:
    """The changelog, the manifest, or a large filelog of which little is wanted."""

    __slots__ = ("_index", "revlog")

    def __init__(self, revlog: ColumnRevlog, changesets: int) -> None:
        self.revlog = revlog
        self._index = revlog.index
        links = revlog.index.linkrevs
        if len(links) and (links.min() < 0 or links.max() >= changesets):
            raise find_bad_link(revlog, links.tolist(), changesets)
        if not comes_first(revlog.index.p1) or not comes_first(revlog.index.p2):
            raise revlog.find_stray()

    def marked(self, marks: bytes, mark: int) -> list[int]:
        column = np.frombuffer(marks, np.uint8)
        revs: list[int] = np.flatnonzero(column[self._index.linkrevs] == mark).tolist()
        return revs

    def linkrevs(self, revs: Sequence[int]) -> list[int]:
        return self._list("linkrev", revs)

    def bases(self, revs: Sequence[int]) -> list[int]:
        bases, numbers = self._column("base", revs), np.asarray(revs)
        deltas = bases if self._index.is_general_delta else numbers - 1
        chosen: list[int] = np.where(bases == numbers, NULL_REV, deltas).tolist()
        return chosen

    def parents(self, revs: Sequence[int]) -> list[tuple[int, int]]:
        return list(zip(self._list("p1", revs), self._list("p2", revs), strict=True))

    def flags(self, revs: Sequence[int]) -> list[int]:
        flags: list[int] = self._column("offset_flags", revs).astype(np.uint16).tolist()
        return flags

    def is_odd(self) -> bool:
        return bool((self._index.flags & NO_DELTA).any())

    def heads(
        self,
        version: Version,
        revs: Sequence[int],
        bases: Sequence[int],
        links: Sequence[int],
        changelog: ColumnRevlog,
    ) -> list[bytes]:
        fields = [
            pick_nodes(self.revlog, np.asarray(revs)),
            pick_nodes(self.revlog, self._column("p1", revs)),
            pick_nodes(self.revlog, self._column("p2", revs)),
        ]
        if version.has_base:
            fields.append(pick_nodes(self.revlog, np.asarray(bases)))
        fields.append(pick_nodes(changelog, np.asarray(links)))
        if version.has_flags:
            flags = np.asarray(self.flags(revs), ">u2")
            fields.append(flags.view(np.uint8).reshape(-1, 2))
        blob = np.hstack(fields).tobytes()
        return [blob[at : at + version.head.size] for at in range(0, len(blob), version.head.size)]

    def _list(self, name: str, revs: Sequence[int]) -> list[int]:
        values: list[int] = self._column(name, revs).tolist()
        return values

    def _column(self, name: str, revs: Sequence[int]) -> npt.NDArray[Any]:
        picked: npt.NDArray[Any] = self._index.columns[name][np.asarray(revs, np.int64)]
        return picked
