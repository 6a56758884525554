"""`getbundle`: a clone, a pull, or what is new to an `incoming`."""

from __future__ import annotations

from trunkline.hg.bundle.getbundle import check_plain
from trunkline.hg.bundle.getbundle import getbundle as make_bundle
from trunkline.hg.bundle.refusal import Refusal
from trunkline.hg.bundle.request import GetBundle, parse_getbundle
from trunkline.hg.bundle.stream import offers_stream_parts
from trunkline.hg.bundle.stream_part import BUGGY
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.pullbundle import has_manifest, pull_bundle
from trunkline.hg.wire.replies import Packed, Repeatable


def getbundle(exchange: Exchange, arguments: Arguments) -> Packed:
    asked = read_getbundle(exchange, arguments)
    ready = None if asked.stream or not asked.cg else ready_bundle(exchange, asked)
    if ready is not None:
        return ready
    bundle = make_bundle(exchange.view, asked, exchange.config)
    repeatable = Repeatable(asked.key, bundle.size, asked.stream)
    return Packed(bundle.blocks, bundle.prefer_uncompressed, repeatable if bundle.size else None)


def read_getbundle(_: Exchange, arguments: Arguments) -> GetBundle:
    """Raises: PeerError."""
    return parse_getbundle(arguments.others)


def check_getbundle(exchange: Exchange, arguments: Arguments) -> None:
    """Raises: PeerError."""
    asked = read_getbundle(exchange, arguments)
    if not asked.is_bundle2:
        check_plain(asked)
    elif asked.stream and not offers_stream_parts(exchange.config):
        raise Refusal("stream data requested but server does not allow this feature", BUGGY)


def ready_bundle(exchange: Exchange, asked: GetBundle) -> Packed | None:
    """A file of the operator's in place of what we would make. Unpacked: it is packed inside."""
    if not has_manifest(exchange.served):
        return None
    view = exchange.view
    common = [rev for rev in map(view.rev, asked.common) if rev is not None]
    blocks = pull_bundle(exchange, view.revs(asked.heads or ()), common)
    return None if blocks is None else Packed(blocks, prefer_uncompressed=True)
