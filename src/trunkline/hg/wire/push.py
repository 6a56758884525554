"""`unbundle` and `pushkey`: writing is the installed Mercurial's."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.errors import PeerError
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Raw, Reply, Text
from trunkline.hg.wire.request import Request
from trunkline.reply import Bytes


def check_push(request: Request) -> None:
    """With the words of stock. Source: hg 7.2.4, hgweb/common.py (checkauthz).

    Stock says 401 to who may not push, and not how to authenticate; its client then shows no
    words. Here they come as an error of the protocol, as long as nobody can log in.
    """
    if request.method != "POST":
        raise PeerError("push requires POST request", status=405)
    if not request.may_push:
        raise PeerError("push not authorized")


def pushkey(exchange: Exchange, arguments: Arguments) -> Text:
    return Text(exchange.ask_bridge(b"pushkey", dict(arguments.named)))


def unbundle(exchange: Exchange, arguments: Arguments) -> Reply:
    payload: Iterator[bytes] = exchange.request.payload or iter(())
    body = exchange.served.bridge.unbundle(arguments[b"heads"], payload, exchange.caller)
    return Text(body.data) if isinstance(body, Bytes) else Raw(body.blocks)
