"""`heads` and `known`: what every pull begins with, so both must cost next to nothing."""

from __future__ import annotations

from trunkline.errors import PeerError
from trunkline.hg.node import Node, format_nodes, parse_nodes
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Text

NODES_LIMIT = 1_000_000  # nodes in one argument


def heads(exchange: Exchange, _: Arguments) -> Text:
    """Hex nodes parted by spaces, and a line feed."""
    view = exchange.view
    return exchange.served.keep(
        f"heads of {view.name}", view, lambda: Text(format_nodes(view.heads) + b"\n")
    )


def known(exchange: Exchange, arguments: Arguments) -> Text:
    """One "1" or "0" for each node, in the order asked."""
    found = exchange.view.known(read_nodes(exchange, arguments))
    return Text(b"".join([b"1" if is_known else b"0" for is_known in found]))


def read_nodes(_: Exchange, arguments: Arguments) -> tuple[Node, ...]:
    """Raises: PeerError."""
    return parse_limited(arguments[b"nodes"])


def parse_limited(text: bytes) -> tuple[Node, ...]:
    """Raises: PeerError for what isn't hex, and past NODES_LIMIT."""
    if text.count(b" ") >= NODES_LIMIT:
        raise PeerError(f"more than {NODES_LIMIT} changeset ids")
    return parse_nodes(text)
