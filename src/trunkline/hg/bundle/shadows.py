"""File revisions that a sent changeset brings again, after one that isn't sent brought them first.

Their link revision names a changeset that the client doesn't get ("linkrev shadowing"), so the
index alone can't tell that they are wanted, nor by whom. The deltas of the sent manifests can: a
line for such a revision stands in what is sent the first time that the client meets it.

Candidates are gathered beforehand, from the files that sent changesets touched; mostly there are
none, and then no manifest is looked into. Source: hg 7.2.4, changegroup.py `generatemanifests`
and revlog's linkrev adjustment for the meaning; the way is our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from trunkline.errors import StoreError
from trunkline.hg.node import format_hex
from trunkline.hg.store import manifest
from trunkline.hg.store.manifest import ManifestLine
from trunkline.hg.store.revlog import Revlog

FEW: Final = 4  # candidates that are searched for one by one


class Shadows:
    """Candidates, and for those that were found the changeset to name instead.

    Holds: what outside changesets brought to files that sent ones touched.
    """

    def __init__(self) -> None:
        self._hexes: set[bytes] = set()
        self._candidates: dict[bytes, set[bytes]] = {}
        self._found: dict[bytes, dict[bytes, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._hexes)

    def add(self, path: bytes, node: bytes) -> None:
        self._hexes.add(format_hex(node))
        self._candidates.setdefault(path, set()).add(node)

    def found(self, path: bytes) -> dict[bytes, int]:
        """Wanted revisions of a file: node to changeset."""
        return self._found.get(path, {})

    def watch(
        self,
        log: Revlog,
        revs: Iterable[int],
        deltas: Iterable[bytes],
        bases: Iterable[int],
        links: Iterable[int],
    ) -> Iterator[bytes]:
        """The deltas of manifests as they are, looked at on their way out. Raises: StoreError."""
        for rev, delta, base, link in zip(revs, deltas, bases, links, strict=True):
            self.look(log, rev, delta, base < 0, link)
            yield delta

    def look(self, log: Revlog, rev: int, delta: bytes, is_full: bool, link: int) -> None:
        """At what the changeset `link` brings of manifest `rev`. Raises: StoreError."""
        if not self._may_hold(delta):
            return
        try:
            self._find(manifest.lines(delta) if is_full else manifest.delta_lines(delta), link)
        except StoreError as error:
            raise log.fault_in_text(rev, error.text) from None

    def _find(self, lines: Iterable[ManifestLine], link: int) -> None:
        for line in lines:
            if line.node in self._candidates.get(line.path, ()):
                found = self._found.setdefault(line.path, {})
                found[line.node] = min(link, found.get(line.node, link))

    def _may_hold(self, delta: bytes) -> bool:
        """Is there any candidate's hex? Each path is followed by NUL and 40 hex digits."""
        if len(self._hexes) <= FEW:
            return any(text in delta for text in self._hexes)
        return not self._hexes.isdisjoint([word[:40] for word in delta.split(b"\0")])
