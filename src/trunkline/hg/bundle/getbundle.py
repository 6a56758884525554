"""The reply to `getbundle`: a bare changegroup for old clients, else a bundle2 of many parts.

Source: hg 7.2.4, wireprotov1server.py `getbundle` and exchange.py `getbundlechunks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import PeerError
from trunkline.hg.bundle import parts
from trunkline.hg.bundle.bundle2 import Part, abort_bundle, write_bundle
from trunkline.hg.bundle.changegroup import changegroup
from trunkline.hg.bundle.outgoing import make_outgoing
from trunkline.hg.bundle.refusal import Refusal
from trunkline.hg.bundle.request import GetBundle
from trunkline.hg.bundle.stream_part import stream_part
from trunkline.hg.node import NULL_NODE
from trunkline.hg.store.view import View

PLAIN_ARGUMENTS: Final = frozenset({b"heads", b"common", b"bundlecaps"})


class Bundle(NamedTuple):
    """`prefer_uncompressed`: what is in it was packed already, or isn't worth it."""

    blocks: Iterator[bytes]
    prefer_uncompressed: bool


def getbundle(view: View, request: GetBundle, config: HgConfig) -> Bundle:
    """What is wrong is found before the first block, and told inside a bundle2 to those who read
    one. Raises: PeerError for the others; StoreError, also while blocks are taken.
    """
    if not request.is_bundle2:
        return plain_bundle(view, request, config)
    try:
        refuse_full(view, request, config)
        found = list(bundle_parts(view, request, config))
    except PeerError as failure:
        hint = failure.hint.encode() if isinstance(failure, Refusal) else None
        return Bundle(iter([abort_bundle(failure, hint)]), True)
    return Bundle(write_bundle(found), any(part.type.startswith(b"stream") for part in found))


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
    return Bundle(changegroup(view, outgoing, b"01"), False)


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


def bundle_parts(view: View, request: GetBundle, config: HgConfig) -> Iterator[Part]:
    """In stock's order. Payloads are made while they are sent. Raises: PeerError."""
    outgoing = make_outgoing(view, request.heads or (), request.common)
    takes_changesets = request.cg and bool(request.capabilities)
    stream = stream_part(view, request, config)
    if stream:
        yield stream
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
