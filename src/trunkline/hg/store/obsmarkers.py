"""Obsolescence markers: which changeset was rewritten as which others, or dropped.

Wire:   store/obsstore is one byte of version, then markers; a bundle2 `obsmarkers` part and a
        pushkey `dumpN` value (in base85) have the same form. See `marker`.
Source: hg 7.2.4, mercurial/obsolete.py.
"""

from __future__ import annotations

from base64 import b85encode
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from trunkline.hg.node import Node
from trunkline.hg.store.marker import Marker, format_markers, parse_markers

PUSHKEY_LIMIT: Final = 5300  # bytes before base85, so that a value fits old servers' headers


class ObsMarkers:
    """The markers of one snapshot, parsed when first asked about."""

    def __init__(self, data: bytes = b"", path: str | None = None) -> None:
        self.data, self._path = data, path

    def __bool__(self) -> bool:
        return len(self.data) > 1

    @cached_property
    def all(self) -> list[Marker]:
        """In the file's order. Raises: StoreError."""
        return parse_markers(self.data, self._path) if self else []

    @cached_property
    def by_predecessor(self) -> dict[Node, list[Marker]]:
        return grouped((marker.predecessor, marker) for marker in self.all)

    @cached_property
    def by_successor(self) -> dict[Node, list[Marker]]:
        return grouped((node, marker) for marker in self.all for node in marker.successors)

    @cached_property
    def prunes_by_parent(self) -> dict[Node, list[Marker]]:
        return grouped(
            (node, marker)
            for marker in self.all
            if not marker.successors
            for node in marker.parents or ()
        )

    @cached_property
    def nodes(self) -> frozenset[Node]:
        """Nodes that `relevant` has something to say about."""
        tables = (self.by_predecessor, self.by_successor, self.prunes_by_parent)
        return frozenset[Node]().union(*tables)

    def relevant(self, nodes: Iterable[Node]) -> list[Marker]:
        """What a peer that has `nodes` should know, in stock's order: markers that have one of
        them as successor, prunes of one of them or of a child of one, and so on back over the
        predecessors of those markers.
        """
        found: set[Marker] = set()
        pending = self.nodes.intersection(nodes)
        seen = set(pending)
        while pending:
            direct = {marker for node in pending for marker in self._touching(node)} - found
            found |= direct
            pending = frozenset(marker.predecessor for marker in direct) - seen
            seen |= pending
        return sorted_markers(found)

    def _touching(self, node: Node) -> Iterator[Marker]:
        yield from self.by_successor.get(node, ())
        yield from self.prunes_by_parent.get(node, ())
        yield from (m for m in self.by_predecessor.get(node, ()) if not m.successors)


def grouped(pairs: Iterable[tuple[Node, Marker]]) -> dict[Node, list[Marker]]:
    table: dict[Node, list[Marker]] = {}
    for node, marker in pairs:
        table.setdefault(node, []).append(marker)
    return table


def sorted_markers(markers: Iterable[Marker]) -> list[Marker]:
    return sorted(markers, key=lambda marker: (*marker[:-1], marker.parents or ()))


def format_pushkey(markers: Iterable[Marker]) -> dict[bytes, bytes]:
    """`dumpN` values in base85, of a limited size each; stock numbers them from the last one."""
    parts: list[list[bytes]] = []
    size = PUSHKEY_LIMIT
    for piece in list(format_markers(markers, 0))[1:]:
        if not parts or size + len(piece) > PUSHKEY_LIMIT:
            parts.append([b"\0"])
            size = 0
        parts[-1].append(piece)
        size += len(piece)
    return {
        b"dump%d" % number: b85encode(b"".join(part)) for number, part in enumerate(reversed(parts))
    }
