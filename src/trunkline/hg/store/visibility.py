"""Which changesets a view doesn't have.

A view is a name for a filter. Each one filters a set that is closed under "descendant of", so
what remains is a whole history.

  served          no hidden ones, nothing secret: what peers see
  served.hidden   nothing secret: for peers that are let see hidden changesets
  visible         no hidden ones: what the owner sees
  immutable       public ones only
  base            the public ones below the first that isn't
  (none)          everything

Hidden are obsolete changesets that aren't public and aren't needed: not the ancestor of a visible
one, and not pinned by a bookmark, the working copy, a local tag or a merge in progress.
Source: hg 7.2.4, mercurial/repoview.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from trunkline.errors import SettingsError
from trunkline.hg.node import NODE_LENGTH
from trunkline.hg.store.tags import parse_tags

if TYPE_CHECKING:
    from trunkline.hg.store.snapshot import Snapshot

Revs = frozenset[int]
NONE: Final[Revs] = frozenset()


def filtered_revs(snapshot: Snapshot, name: str | None) -> Revs:
    """The revisions that the view `name` doesn't have. Raises: SettingsError, StoreError."""
    if name is None:
        return NONE
    if name not in FILTERS:
        raise SettingsError(f"server.view: unknown view {name!r} ({', '.join(FILTERS)})")
    return FILTERS[name](snapshot)


def hidden(snapshot: Snapshot) -> Revs:
    candidates = obsolete(snapshot) | snapshot.phases.local_only
    return reveal(snapshot, candidates - pinned(snapshot)) if candidates else NONE


def secret(snapshot: Snapshot) -> Revs:
    return snapshot.phases.secret


def unserved(snapshot: Snapshot) -> Revs:
    return hidden(snapshot) | secret(snapshot)


def mutable(snapshot: Snapshot) -> Revs:
    return snapshot.phases.mutable


def above_base(snapshot: Snapshot) -> Revs:
    count = snapshot.changelog.count
    lowest = snapshot.phases.lowest_root
    return frozenset(range(count if lowest is None else lowest, count))


def obsolete(snapshot: Snapshot) -> Revs:
    """Draft and secret changesets that have a marker as its predecessor."""
    if not snapshot.obsmarkers:
        return NONE
    rewritten = [node for node in snapshot.obsmarkers.by_predecessor if len(node) == NODE_LENGTH]
    known = snapshot.changelog.revs(rewritten)
    mutable_revs = snapshot.phases.mutable - snapshot.phases.local_only
    return mutable_revs.intersection(known.tolist())


def pinned(snapshot: Snapshot) -> Revs:
    """Revisions that stay visible though they are obsolete."""
    nodes = [
        *snapshot.parents,
        *snapshot.bookmarks.values(),
        *(tag.node for tag in parse_tags(snapshot.local_tags).values()),
        *snapshot.unresolved,
    ]
    rev = snapshot.changelog.rev
    return frozenset(found for found in map(rev, nodes) if found is not None)


def reveal(snapshot: Snapshot, candidates: Revs) -> Revs:
    """Drop from the candidates each one that a visible changeset descends from."""
    if not candidates:
        return NONE
    left = set(candidates)
    index = snapshot.changelog.index
    mask = np.zeros(index.count + 1, dtype=np.bool_)  # the last one is the null revision's
    mask[np.fromiter(candidates, np.int64, len(candidates))] = True
    children = np.flatnonzero(mask[index.p1] | mask[index.p2])[::-1]
    # From the highest down: whether a child stays hidden is settled before its parents are.
    rows = zip(
        children.tolist(), index.p1[children].tolist(), index.p2[children].tolist(), strict=True
    )
    for rev, p1, p2 in rows:
        if rev not in left:
            left.discard(p1)
            left.discard(p2)
    return frozenset(left)


FILTERS: Final[dict[str, Callable[[Snapshot], Revs]]] = {
    "served": unserved,
    "served.hidden": secret,
    "visible": hidden,
    "visible-hidden": hidden,
    "immutable": mutable,
    "base": above_base,
}
