"""Phases: how public each changeset is.

A phase holds for its roots and all their descendants; where several apply, the highest does. So a
file of roots says everything: store/phaseroots.

Wire:   a line for each root: the phase's number, a space, 40 hex digits.
Source: hg 7.2.4, mercurial/phases.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from trunkline.errors import PeerError, StoreError
from trunkline.hg.node import Node, Rev, parse_hex

if TYPE_CHECKING:
    from trunkline.hg.store.changelog import Changelog

PUBLIC: Final = 0
DRAFT: Final = 1
SECRET: Final = 2
ARCHIVED: Final = 32
INTERNAL: Final = 96
ALL_PHASES: Final = (PUBLIC, DRAFT, SECRET, ARCHIVED, INTERNAL)

HEAD_ENTRY: Final = struct.Struct(">i20s")
BLOCK: Final = 65536  # revisions whose parents are plain lists at a time

Roots = Mapping[int, frozenset[Rev]]
Column = npt.NDArray[np.int32]


class Phases:
    """The phases of one snapshot; `roots` are revision numbers by phase, none for public.

    Nothing is walked before it is asked for, and never anything below the lowest root that
    matters for the question: "is it secret?" costs nothing where no changeset is.
    """

    def __init__(self, roots: Roots, p1: Column, p2: Column) -> None:
        self.roots = {phase: revs for phase, revs in roots.items() if revs and phase != PUBLIC}
        self._p1, self._p2 = p1, p2

    def phase(self, rev: int) -> int:
        """The null revision is public."""
        return self._levels[rev] if rev >= self._floor else PUBLIC

    @property
    def lowest_root(self) -> Rev | None:
        """Below it all is public; None: everything is."""
        return min((min(revs) for revs in self.roots.values()), default=None)

    @cached_property
    def secret(self) -> frozenset[int]:
        """Secret, archived and internal: what never leaves."""
        levels = self._levels_from(SECRET)
        return frozenset() if levels is None else above(levels, PUBLIC)

    @cached_property
    def local_only(self) -> frozenset[int]:
        """Archived and internal: hidden even from the owner."""
        levels = self._levels_from(ARCHIVED)
        return frozenset() if levels is None else above(levels, PUBLIC)

    @cached_property
    def mutable(self) -> frozenset[int]:
        """All that isn't public."""
        return above(self._levels, PUBLIC) if self.roots else frozenset()

    @cached_property
    def _floor(self) -> int:
        lowest = self.lowest_root
        return len(self._p1) if lowest is None else lowest

    @cached_property
    def _levels(self) -> bytearray:
        return self._levels_from(DRAFT) or bytearray()

    def _levels_from(self, least: int) -> bytearray | None:
        """A byte a revision: its phase as far as roots of at least phase `least` make it.

        One byte more for the null revision, at the end, where index -1 finds it.
        """
        levels = bytearray(len(self._p1) + 1)
        floor = len(self._p1)
        for phase in sorted(self.roots):
            if phase >= least:
                for rev in self.roots[phase]:
                    levels[rev] = phase
                floor = min(floor, *self.roots[phase])
        if floor == len(self._p1):
            return None
        spread(levels, self._p1, self._p2, floor)
        return levels


def spread(levels: bytearray, p1: Column, p2: Column, floor: int) -> None:
    """Raise each revision from `floor` up to the highest level of its parents."""
    for low in range(floor, len(p1), BLOCK):
        firsts, seconds = p1[low : low + BLOCK].tolist(), p2[low : low + BLOCK].tolist()
        for rev, (first, second) in enumerate(zip(firsts, seconds, strict=True), low):
            level = levels[first]
            if second >= 0 and levels[second] > level:
                level = levels[second]
            if level > levels[rev]:  # noqa: PLR1730 - most are public: no write, no call
                levels[rev] = level


def above(levels: bytearray, level: int) -> frozenset[int]:
    found = np.flatnonzero(np.frombuffer(levels, dtype=np.uint8) > level)
    return frozenset(found.tolist())


def known_roots(roots: Iterable[tuple[int, Node]], changelog: Changelog) -> Roots:
    """Roots that the changelog doesn't know are left out, as stock does."""
    known: dict[int, set[Rev]] = {}
    for phase, node in roots:
        rev = changelog.rev(node)
        if rev is not None and rev >= 0:
            known.setdefault(phase, set()).add(rev)
    return {phase: frozenset(revs) for phase, revs in known.items()}


def parse_roots(data: bytes, path: str | None = None) -> list[tuple[int, Node]]:
    """Raises: StoreError, at the byte where the bad line begins."""
    roots: list[tuple[int, Node]] = []
    offset = 0
    for line in data.splitlines(keepends=True):
        words = line.split()
        try:
            phase, node = int(words[0]), parse_hex(words[1])
        except (IndexError, ValueError, PeerError):
            raise StoreError("not a phase and a changeset id", path, offset) from None
        if phase not in ALL_PHASES or len(words) != 2:
            raise StoreError("not a phase that Mercurial knows", path, offset)
        roots.append((phase, node))
        offset += len(line)
    return roots


def format_heads(heads: Iterable[tuple[int, Node]]) -> bytes:
    """The data of a bundle2 `phase-heads` part. Wire: int32 BE phase, 20 bytes of node, each."""
    return b"".join(HEAD_ENTRY.pack(phase, node) for phase, node in heads)
