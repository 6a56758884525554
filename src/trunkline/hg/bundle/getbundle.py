"""The reply to `getbundle`: a bare changegroup for old clients, else a bundle2 of many parts.

Source: hg 7.2.4, wireprotov1server.py `getbundle` and exchange.py `getbundlechunks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import PeerError
from trunkline.hg.bundle import parts
from trunkline.hg.bundle.bundle2 import Part, abort_bundle, write_bundle
from trunkline.hg.bundle.changegroup import changegroup
from trunkline.hg.bundle.estimate import changegroup_size, file_count, store_size
from trunkline.hg.bundle.outgoing import Outgoing, make_outgoing
from trunkline.hg.bundle.refusal import Refusal
from trunkline.hg.bundle.request import GetBundle
from trunkline.hg.bundle.stream_part import stream_maker
from trunkline.hg.node import NULL_NODE
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.store.view import View

MANY_FILES: Final = 1000
PLAIN_ARGUMENTS: Final = frozenset({b"heads", b"common", b"bundlecaps"})


class Bundle(NamedTuple):
    """`prefer_uncompressed`: what is in it was packed already, or isn't worth it. `size`: about as
    many bytes; 0 where it isn't worth to be kept for others.
    """

    blocks: Iterator[bytes]
    prefer_uncompressed: bool
    size: int = 0


def getbundle(view: View, request: GetBundle, config: HgConfig) -> Bundle:
    """What is wrong is found before the first block, and told inside a bundle2 to those who read
    one. Raises: PeerError for the others; StoreError, also while blocks are taken.
    """
    if not request.is_bundle2:
        return plain_bundle(view, request, config)
    try:
        refuse_full(view, request, config)
        stream = stream_maker(view, request, config)
        outgoing = make_outgoing(view, request.heads or (), request.common)
        found = list(bundle_parts(view, request, outgoing))
    except PeerError as failure:
        hint = failure.hint.encode() if isinstance(failure, Refusal) else None
        return Bundle(iter([abort_bundle(failure, hint)]), True)
    if stream is not None:
        return Bundle(stream_bundle(stream, found), True, stream_size(view.snapshot))
    size = changegroup_size(view.snapshot, outgoing) if request.cg else 0
    return Bundle(write_bundle(found), False, size)


def stream_bundle(make: Callable[[], Part], others: list[Part]) -> Iterator[bytes]:
    """The files are listed when the first block is taken: who gets the bundle from elsewhere is
    spared that. Raises: StoreError.
    """
    yield from write_bundle([make(), *others])


def stream_size(snapshot: Snapshot) -> int:
    """0 where few files make it up: they are sent from the store as fast as from anywhere."""
    return store_size(snapshot) if file_count(snapshot) >= MANY_FILES else 0


def plain_bundle(view: View, request: GetBundle, config: HgConfig) -> Bundle:
    """Raises: PeerError."""
    if not is_bundle1_allowed(view, config):
        raise PeerError(
            "incompatible Mercurial client; bundle2 required\n"
            "(see https://www.mercurial-scm.org/wiki/IncompatibleClient)"
        )
    refuse_full(view, request, config)
    check_plain(request)
    outgoing = make_outgoing(view, request.heads or (), request.common)
    size = changegroup_size(view.snapshot, outgoing)
    return Bundle(changegroup(view, outgoing, b"01"), False, size)


def check_plain(request: GetBundle) -> None:
    """Raises: PeerError for what only a bundle2 can hold."""
    if not request.cg:
        raise PeerError("request for bundle10 must include changegroup")
    others = b", ".join(sorted(request.named - PLAIN_ARGUMENTS)).decode("ascii")
    if others:
        raise PeerError(f"unsupported getbundle arguments: {others}")


def is_bundle1_allowed(view: View, config: HgConfig) -> bool:
    names = ["bundle1gd.pull", "bundle1.pull", "bundle1gd", "bundle1"]
    if "generaldelta" not in view.snapshot.layout.requirements:
        names = ["bundle1.pull", "bundle1"]
    chosen = next((name for name in names if config.get("server", name)), "bundle1")
    return config.bool("server", chosen, True)


def refuse_full(view: View, request: GetBundle, config: HgConfig) -> None:
    """Where operators want clones to come as streams or clone bundles only. Raises: PeerError."""
    if not config.bool("server", "disablefullbundle") or not request.cg:
        return
    heads = set(view.heads)
    if set(request.common) <= {NULL_NODE} and set(request.heads or heads) == heads:
        raise Refusal(
            "server has pull-based clones disabled",
            "remove --pull if specified or upgrade Mercurial",
        )


def bundle_parts(view: View, request: GetBundle, outgoing: Outgoing) -> Iterator[Part]:
    """In stock's order; a stream comes before them. Payloads are made while they are sent.

    Raises: PeerError.
    """
    takes_changesets = request.cg and bool(request.capabilities)
    if takes_changesets:
        yield from some(parts.changegroup_part(view, request, outgoing))
    if request.bookmarks:
        yield from some(parts.bookmarks_part(view, request))
    for namespace in request.listkeys:
        yield parts.listkeys_part(view, namespace)
    if request.obsmarkers:
        yield from some(parts.obsmarkers_part(view, request))
    if request.phases:
        yield parts.phases_part(view, request)
    if takes_changesets and b"hgtagsfnodes" in request.capabilities:
        heads = sorted(request.heads) if request.heads else view.heads
        yield from some(parts.hgtagsfnodes_part(view, heads))
    if takes_changesets and b"rev-branch-cache" in request.capabilities:
        yield parts.branches_part(view, outgoing)


def some(part: Part | None) -> Iterator[Part]:
    if part is not None:
        yield part
