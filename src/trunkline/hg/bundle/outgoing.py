"""What a client gets: the changesets between what it asks for and what it has.

Source: hg 7.2.4, exchange.py `_computeoutgoing` and discovery.py `outgoing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trunkline.hg.history.graph import Revs
from trunkline.hg.node import Node
from trunkline.hg.store.view import View


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`sent`: sorted revisions. `heads`: whose ancestors are sent; `common`: what the client has,
    as revisions, the unknown ones left out."""

    sent: Revs
    heads: list[int]
    common: list[int]


def make_outgoing(view: View, heads: Sequence[Node], common: Iterable[Node]) -> Outgoing:
    """No `heads` means all of them. Nodes of `common` that we haven't are the client's own affair.

    Raises: PeerError for an unknown (or hidden) head.
    """
    wanted = find_heads(view, heads)
    theirs = [int(rev) for rev in map(view.rev, common) if rev is not None and rev >= 0]
    return Outgoing(view.graph.missing(theirs, wanted), wanted, theirs)


def outgoing_from_roots(view: View, roots: Sequence[Node], heads: Sequence[Node]) -> Outgoing:
    """For the commands before `getbundle`: descendants of `roots` that are ancestors of `heads`.

    The client has the parents of what it gets. No `heads` means all of them; the null node among
    `roots` means everything. Raises: PeerError.
    """
    graph = view.graph
    sent = graph.range(view.revs(roots), find_heads(view, heads))
    return Outgoing(sent, graph.heads_among(sent).tolist(), graph.parents_outside(sent).tolist())


def find_heads(view: View, heads: Sequence[Node]) -> list[int]:
    revs: list[int] = view.revs(heads) if heads else view.graph.heads.tolist()
    return [rev for rev in revs if rev >= 0]
