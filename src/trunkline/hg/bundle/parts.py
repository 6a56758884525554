"""The small parts of a `getbundle` reply, one function each.

Each gives the part, or None where the client gets none. What can't be given at all is a PeerError.
Source: hg 7.2.4, exchange.py `getbundle2partsgenerator` and what it calls in bundle2.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from trunkline.errors import PeerError
from trunkline.hg.bundle.bundle2 import Part
from trunkline.hg.bundle.changegroup import changegroup
from trunkline.hg.bundle.outgoing import Outgoing
from trunkline.hg.bundle.request import GetBundle
from trunkline.hg.bundle.version import choose_version
from trunkline.hg.node import NULL_NODE, Node
from trunkline.hg.store.bookmarks import format_bookmarks
from trunkline.hg.store.branches import branch_table
from trunkline.hg.store.hgtags_cache import read_hgtags_cache
from trunkline.hg.store.marker import WRITERS, format_markers
from trunkline.hg.store.phases import format_heads
from trunkline.hg.store.view import View

BRANCH: Final = Struct(">III")


def changegroup_part(view: View, request: GetBundle, outgoing: Outgoing) -> Part | None:
    """Clients that name no version of the changegroup take 01, and no parameter about it."""
    offered = request.capabilities.get(b"changegroup", ())
    version = choose_version(offered) if offered else b"01"
    if version is None:
        raise PeerError("no common changegroup version")
    if not len(outgoing.sent):
        return None
    return Part(
        b"changegroup",
        ((b"version", version),) if offered else (),
        ((b"nbchanges", b"%d" % len(outgoing.sent)),),
        changegroup(view, outgoing, version),
    )


def bookmarks_part(view: View, request: GetBundle) -> Part | None:
    if b"bookmarks" not in request.capabilities:
        raise PeerError("no common bookmarks exchange method")
    data = format_bookmarks(view.public_bookmarks.items())
    return Part(b"bookmarks", payload=(data,)) if data else None


def listkeys_part(view: View, namespace: bytes) -> Part:
    """Wire: key TAB value, one a line, the last without its line's end."""
    lines = [b"%b\t%b" % pair for pair in view.listkeys(namespace)]
    return Part(b"listkeys", ((b"namespace", namespace),), payload=(b"\n".join(lines),))


def obsmarkers_part(view: View, request: GetBundle) -> Part | None:
    """In the newest format of markers that the client reads."""
    heads = request.heads
    if heads is not None:
        heads = tuple(node for node in heads if view.has(node))
    markers = view.relevant_markers(heads)
    if not markers:
        return None
    versions = markers_versions(request)
    if not versions:
        raise PeerError("bundler does not support common obsmarker format")
    return Part(b"obsmarkers", payload=(b"".join(format_markers(markers, max(versions))),))


def markers_versions(request: GetBundle) -> list[int]:
    """The formats of markers that both sides have."""
    offered = request.capabilities.get(b"obsmarkers", ())
    return [version for version in WRITERS if b"V%d" % version in offered]


def phases_part(view: View, request: GetBundle) -> Part:
    if b"heads" not in request.capabilities.get(b"phases", ()):
        raise PeerError("no common phases exchange method")
    data = format_heads(view.phase_heads(request.heads))
    return Part(b"phase-heads", payload=(data,))


def hgtagsfnodes_part(view: View, heads: list[Node]) -> Part | None:
    """What the cache knows of the heads' `.hgtags`. Wire: changeset, file node, each."""
    cache = read_hgtags_cache(view.snapshot.repository.cache_path)
    found: list[bytes] = []
    for node in heads:
        rev = view.rev(node)
        if rev is not None and node != NULL_NODE:
            tags_node = cache.get(rev, node)
            if tags_node is not None:
                found += (node, tags_node)
    data = b"".join(found)
    return Part(b"hgtagsfnodes", payload=(data,), is_mandatory=False) if data else None


def branches_part(view: View, outgoing: Outgoing) -> Part:
    """The branch of each changeset that is sent; only clients before 6.x ask for it."""
    return Part(
        b"cache:rev-branch-cache", payload=format_branches(view, outgoing), is_mandatory=False
    )


def format_branches(view: View, outgoing: Outgoing) -> Iterator[bytes]:
    """Wire: for each branch, sorted: uint32 BE name length, number of open and of closing
    changesets; name; their nodes, the open ones first, sorted.
    """
    table = branch_table(view.snapshot)
    branches: dict[bytes, tuple[list[Node], list[Node]]] = {}
    for rev in outgoing.sent.tolist():
        nodes = branches.setdefault(table.branch(rev), ([], []))
        nodes[table.is_closed(rev)].append(view.node(rev))
    for name, (opened, closed) in sorted(branches.items()):
        yield b"".join(
            (
                BRANCH.pack(len(name), len(opened), len(closed)),
                name,
                *sorted(opened),
                *sorted(closed),
            )
        )
