"""`debugwireargs` and `protocaps`: commands that test or tune the wire itself."""

from __future__ import annotations

from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Text


def debugwireargs(_: Exchange, arguments: Arguments) -> Text:
    """Its five arguments, of which a peer may set four; what isn't set is the word None."""
    optional = [arguments.others.get(name, b"None") for name in (b"three", b"four")]
    return Text(b" ".join([arguments[b"one"], arguments[b"two"], *optional, b"None"]))


def protocaps(_: Exchange, __: Arguments) -> Text:
    """Over HTTP each request brings its own X-HgProto, so there is nothing to remember."""
    return Text(b"OK")
