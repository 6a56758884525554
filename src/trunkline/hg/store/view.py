"""A repository as one kind of reader sees it: a snapshot less what its view filters.

Every answer to a peer goes through a view; that is the one place where secret and hidden
changesets are kept back. What is worked out is kept, as a snapshot never changes; two threads
that work out the same at once only waste time.

Source: hg 7.2.4, mercurial/repoview.py, localrepo.py and exchange.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trunkline.errors import PeerError
from trunkline.hg.history.graph import Graph, Revs
from trunkline.hg.node import NULL_NODE, NULL_REV, Node, Rev
from trunkline.hg.store import symbol
from trunkline.hg.store.bookmarks import is_divergent
from trunkline.hg.store.branches import BranchMap, branch_map
from trunkline.hg.store.listkeys import listkeys
from trunkline.hg.store.marker import Marker
from trunkline.hg.store.phases import DRAFT, PUBLIC
from trunkline.hg.store.tags import read_tags
from trunkline.hg.store.visibility import filtered_revs
from trunkline.work import Work

if TYPE_CHECKING:
    from trunkline.hg.store.snapshot import Snapshot


class Segment(NamedTuple):
    """A run of changesets with one parent each, for the old discovery: from `top` down to
    `bottom`, which is a root or a merge and has the parents `p1` and `p2`.
    """

    top: Node
    bottom: Node
    p1: Node
    p2: Node


class View:
    """`name` as in `visibility`; None for everything."""

    def __init__(self, snapshot: Snapshot, name: str | None = "served") -> None:
        self.snapshot = snapshot
        self.name = name
        self.filtered: frozenset[int] = filtered_revs(snapshot, name)

    # -- nodes and numbers

    @cached_property
    def graph(self) -> Graph:
        index = self.snapshot.changelog.index
        return Graph(index.p1, index.p2, self.filtered)

    def rev(self, node: bytes) -> Rev | None:
        """-1 for the null node; None for one that the view doesn't have."""
        rev = self.snapshot.changelog.rev(Node(node))
        return None if rev is None or rev in self.filtered else rev

    def has(self, node: bytes) -> bool:
        return self.rev(node) is not None

    def known(self, nodes: Sequence[bytes]) -> list[bool]:
        """`has` for many nodes of 20 bytes at once."""
        revs = self.snapshot.changelog.revs(nodes).tolist()
        return [rev >= NULL_REV and rev not in self.filtered for rev in revs]

    def revs(self, nodes: Sequence[bytes]) -> list[int]:
        """Of nodes of 20 bytes that must be there. Raises: PeerError for one that isn't."""
        revs: list[int] = self.snapshot.changelog.revs(nodes).tolist()
        for node, rev in zip(nodes, revs, strict=True):
            if rev < NULL_REV or rev in self.filtered:
                raise PeerError(f"unknown revision '{node.hex()}'")
        return revs

    def revs_with_prefix(self, prefix: bytes) -> list[Rev]:
        """Two at most; `prefix` has 1 to 40 lower-case hex digits."""
        return self.snapshot.changelog.index.revs_with_prefix(prefix, ranks=self._ranks)

    @cached_property
    def _ranks(self) -> Revs | None:
        index = self.snapshot.changelog.index
        return index.ranks(self.graph.visible) if self.filtered else None

    def node(self, rev: int) -> Node:
        assert rev not in self.filtered, "the node of a filtered revision was asked for"
        return self.snapshot.changelog.node(rev)

    def nodes(self, revs: Iterable[int]) -> list[Node]:
        return [self.node(rev) for rev in revs]

    # -- what there is

    @cached_property
    def heads(self) -> list[Node]:
        """From the tip down. The null node alone in an empty repository; none at all, as from
        stock, where there are changesets and the view has none of them.
        """
        if not self.snapshot.changelog.count:
            return [NULL_NODE]
        return self.nodes(self.graph.heads[::-1].tolist())

    @cached_property
    def tip(self) -> Node:
        revs = self.graph.heads
        return self.node(int(revs[-1])) if len(revs) else NULL_NODE

    @cached_property
    def bookmarks(self) -> dict[bytes, Node]:
        """Those on a changeset of the view."""
        bookmarks = self.snapshot.bookmarks
        return {name: node for name, node in bookmarks.items() if self.has(node)}

    @cached_property
    def public_bookmarks(self) -> dict[bytes, Node]:
        """Without local notes of divergence: what peers are shown."""
        return {name: node for name, node in self.bookmarks.items() if not is_divergent(name)}

    @cached_property
    def tags(self) -> dict[bytes, Node]:
        return read_tags(self)

    @cached_property
    def branch_map(self) -> BranchMap:
        return branch_map(self)

    @property
    def is_publishing(self) -> bool:
        """All that a peer gets becomes public there. The owner of the files needs no trust."""
        config = self.snapshot.repository.config
        return config.bool("phases", "publish", default=True, untrusted=True)

    # -- questions of the protocol

    def lookup(self, key: bytes) -> Node:
        """Raises: PeerError."""
        return symbol.lookup(self, key)

    def listkeys(self, namespace: bytes) -> list[tuple[bytes, bytes]]:
        return listkeys(self, namespace)

    def branch_heads(self) -> dict[bytes, list[Node]]:
        """Branch -> its heads, closed ones too, as the `branchmap` command tells them."""
        return {name: self.nodes(revs) for name, revs in self.branch_map.heads.items()}

    def between(
        self, pairs: Iterable[tuple[Node, Node]], work: Work | None = None
    ) -> list[list[Node]]:
        """For each (top, bottom): the changesets at 1, 2, 4, 8 ... steps down from the top along
        first parents, until the bottom or a root. Raises: PeerError, ClientGone.
        """
        work = work or Work()
        return [self._between(top, bottom, work) for top, bottom in pairs]

    def _between(self, top: Node, bottom: Node, work: Work) -> list[Node]:
        (rev,) = self.revs([top])
        end = self.rev(bottom)  # an unknown one is never met
        parent = self.graph.p1.item
        found: list[Node] = []
        step, wanted = 0, 1
        while rev not in (end, NULL_REV):
            if step == wanted:
                work.walk(step - step // 2)  # since the last one
                found.append(self.node(rev))
                wanted *= 2
            rev = parent(rev)
            step += 1
        work.walk(step - wanted // 2)
        return found

    def segments(self, nodes: Sequence[Node], work: Work | None = None) -> list[Segment]:
        """The `branches` command: the linear run below each node. No nodes: below the tip.

        Raises: PeerError, ClientGone.
        """
        work = work or Work()
        nodes = nodes or [self.tip]
        return [
            self._segment(node, rev, work)
            for node, rev in zip(nodes, self.revs(nodes), strict=True)
        ]

    def _segment(self, top: Node, rev: int, work: Work) -> Segment:
        work.walk(1)
        bottom = rev if rev == NULL_REV else int(self._bottoms[rev])
        p1, p2 = self.graph.parents(bottom)
        return Segment(top, self.node(bottom), self.node(p1), self.node(p2))

    @cached_property
    def _bottoms(self) -> Revs:
        """Where the linear run below each revision ends. Each step doubles how far was walked."""
        p1, p2 = self.graph.p1, self.graph.p2
        is_bottom = (p2 != NULL_REV) | (p1 == NULL_REV)
        bottoms = np.where(is_bottom, np.arange(len(p1), dtype=np.int32), p1)
        for _ in range(len(p1).bit_length()):
            if is_bottom[bottoms].all():
                break
            bottoms = bottoms[bottoms]
        return bottoms

    def phase_heads(self, heads: Sequence[Node] | None = None) -> list[tuple[int, Node]]:
        """What a bundle2 `phase-heads` part tells about `heads` (default: all): by phase, then by
        node. Of a draft head its highest public ancestors are told too. Raises: PeerError.
        """
        heads = self.heads if heads is None else heads
        if self.is_publishing:
            return [(PUBLIC, node) for node in sorted(set(heads))]
        revs = self.revs(heads)
        phase = self.snapshot.phases.phase
        drafts = {rev for rev in revs if phase(rev) == DRAFT}
        publics = {rev for rev in revs if phase(rev) == PUBLIC}
        publics.update(self._public_heads(drafts, publics))
        return [(PUBLIC, node) for node in sorted(self.nodes(publics))] + [
            (DRAFT, node) for node in sorted(self.nodes(drafts))
        ]

    def _public_heads(self, drafts: set[int], publics: set[int]) -> list[int]:
        """Heads of what is public among the ancestors of `drafts` but not of `publics`."""
        below = self.graph.missing(publics, drafts)
        phase = self.snapshot.phases.phase
        public = np.array([rev for rev in below.tolist() if phase(rev) == PUBLIC], np.int32)
        heads: list[int] = self.graph.heads_among(public).tolist()
        return heads

    def relevant_markers(self, heads: Sequence[Node] | None = None) -> list[Marker]:
        """Obsolescence markers for a peer that has `heads` (default: all) and their ancestors."""
        markers = self.snapshot.obsmarkers
        if not markers:
            return []
        named = [node for node in markers.nodes if len(node) == len(NULL_NODE)]
        revs = self.snapshot.changelog.revs(named).tolist()
        if heads is None:
            return markers.relevant(
                node
                for node, rev in zip(named, revs, strict=True)
                if rev >= 0 and rev not in self.filtered
            )
        owned = self.graph.lazy_ancestors(self.revs(heads))
        return markers.relevant(
            node for node, rev in zip(named, revs, strict=True) if rev >= 0 and rev in owned
        )

    # -- what to send

    def missing(self, common: Sequence[Node], heads: Sequence[Node]) -> Revs:
        """Ancestors of `heads` that aren't ancestors of `common`, ends included: `getbundle`.

        Common nodes that the view doesn't have are passed over, as stock does; heads must be
        there. Raises: PeerError.
        """
        shared = (self.rev(node) for node in common)
        return self.graph.missing((rev for rev in shared if rev is not None), self.revs(heads))
