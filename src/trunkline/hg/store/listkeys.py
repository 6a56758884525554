"""The `listkeys` namespaces: small tables of names and values about a view.

Source: hg 7.2.4, mercurial/pushkey.py, phases.py (listphases), obsolete.py (listmarkers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from trunkline.hg.node import format_hex
from trunkline.hg.store.evolution import is_exchange_enabled
from trunkline.hg.store.obsmarkers import format_pushkey
from trunkline.hg.store.phases import DRAFT

if TYPE_CHECKING:
    from trunkline.hg.store.view import View

Keys = list[tuple[bytes, bytes]]


def listkeys(view: View, namespace: bytes) -> Keys:
    """Sorted; an unknown namespace is empty."""
    lister = NAMESPACES.get(namespace)
    return [] if lister is None else sorted(lister(view).items())


def namespaces(view: View) -> dict[bytes, bytes]:
    names = dict.fromkeys(NAMESPACES, b"")
    if not is_exchange_enabled(view.snapshot.repository.config):
        del names[b"obsolete"]
    return names


def bookmarks(view: View) -> dict[bytes, bytes]:
    return {name: format_hex(node) for name, node in view.public_bookmarks.items()}


def phases(view: View) -> dict[bytes, bytes]:
    """Draft roots, and that the repository publishes. A root that the view doesn't have is left
    out: nothing that the view has descends from it.
    """
    roots = view.snapshot.phases.roots.get(DRAFT, frozenset())
    phase = view.snapshot.phases.phase
    keys: dict[bytes, bytes] = {
        format_hex(view.node(rev)): b"1"
        for rev in roots
        if rev not in view.filtered and phase(rev) <= DRAFT
    }
    if view.is_publishing:
        keys[b"publishing"] = b"True"
    return keys


def obsolete(view: View) -> dict[bytes, bytes]:
    """Markers that matter to who has the view's changesets, where markers are exchanged at all.

    Stock gives every marker it has; those beyond speak of changesets that the peer can't see.
    """
    if not is_exchange_enabled(view.snapshot.repository.config):
        return {}
    return format_pushkey(view.relevant_markers())


NAMESPACES: Final[dict[bytes, Callable[[View], dict[bytes, bytes]]]] = {
    b"bookmarks": bookmarks,
    b"namespaces": namespaces,
    b"obsolete": obsolete,
    b"phases": phases,
}
