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
from trunkline.hg.wire.file_reply import file_after
from trunkline.hg.wire.negotiate import negotiate
from trunkline.hg.wire.pullbundle import file_blocks, has_manifest, pull_bundle
from trunkline.hg.wire.replies import File, Packed, Repeatable


def getbundle(exchange: Exchange, arguments: Arguments) -> Packed | File:
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


def ready_bundle(exchange: Exchange, asked: GetBundle) -> Packed | File | None:
    """A file in place of what we would make. Unpacked: it is packed inside."""
    served = exchange.served
    if not has_manifest(served) and not served.has_own_bundles:
        return None
    view = exchange.view
    common = [rev for rev in map(view.rev, asked.common) if rev is not None]
    path = pull_bundle(exchange, view.revs(asked.heads or ()), common)
    if path is None:
        return None
    if not exchange.client.takes_0_2:
        return Packed(file_blocks(path), prefer_uncompressed=True)
    packing = negotiate(served.engines, exchange.client, prefer_uncompressed=True)
    return file_after(packing.header, path, packing.media_type)
