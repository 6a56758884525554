"""`stream_out`: the first kind of stream clone, which only clients before 4.6 ask for."""

from __future__ import annotations

from trunkline.hg.bundle.getbundle import stream_size
from trunkline.hg.bundle.stream_v1 import stream_v1
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Raw, Repeatable


def stream_out(exchange: Exchange, _: Arguments) -> Raw:
    snapshot = exchange.snapshot
    size = stream_size(snapshot)
    repeatable = Repeatable(b"", size, is_stored_form=True) if size else None
    return Raw(stream_v1(snapshot, exchange.config), repeatable)
