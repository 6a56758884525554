"""Which changesets a changegroup carries, and what that says of all the others.

A changeset is sent, or known (the client says that it has it), or outside (it is neither: hidden,
secret, or on a head that wasn't asked for). File and manifest revisions name the changeset that
first brought them. Sent: it goes along. Known: the client has it. Outside: it is wanted only if a
sent changeset brought the same revision again, which the manifests alone can tell (`shadows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from trunkline.hg.history.graph import Graph, Revs

SENT: Final = 1
OUTSIDE: Final = 2


@dataclass(frozen=True, slots=True)
class Scope:
    """`marks` has a byte for each changeset."""

    sent: Revs
    outside: Revs
    marks: bytes
    is_whole: bool


def make_scope(sent: Revs, outside: Revs, count: int) -> Scope:
    """`sent` and `outside` are sorted, of `count` changesets in all."""
    marks = np.zeros(count, np.uint8)
    marks[sent] = SENT
    marks[outside] = OUTSIDE
    return Scope(sent, outside, marks.tobytes(), len(sent) == count)


def find_outside(view: Graph, common: list[int], heads: list[int]) -> Revs:
    """Changesets, filtered ones too, that are ancestors of neither side."""
    if set(heads).issuperset(view.heads.tolist()):
        return np.array(sorted(view.filtered), np.int32)
    everything = Graph(view.p1, view.p2)
    return everything.missing([*common, *heads], everything.heads.tolist())
