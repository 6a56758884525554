"""`unbundle` and `pushkey`: writing is the installed Mercurial's."""

from __future__ import annotations

from binascii import unhexlify
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
    """What follows in the same batch sees what it did."""
    reply = exchange.ask_bridge(b"pushkey", dict(arguments.named))
    exchange.look_again()
    return Text(reply)


def check_heads(heads: bytes) -> None:
    """Mercurial has no words for others. Source: hg 7.2.4, wireprototypes.py (decodelist).

    Wire:   hexadecimal words, a space between; they may be b"force" or b"hashed" and a digest.
    Raises: PeerError.
    """
    try:
        for word in heads.split(b" "):
            unhexlify(word)
    except ValueError:
        raise PeerError("unbundle: heads are hexadecimal words with spaces between") from None


def unbundle(exchange: Exchange, arguments: Arguments) -> Reply:
    check_heads(arguments[b"heads"])
    payload: Iterator[bytes] = exchange.request.payload or iter(())
    body = exchange.served.bridge.unbundle(arguments[b"heads"], payload, exchange.caller)
    return Text(body.data) if isinstance(body, Bytes) else Raw(body.blocks)
