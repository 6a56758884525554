"""`branches` and `between`: the discovery of clients before 1.9, along first parents."""

from __future__ import annotations

from trunkline.errors import PeerError
from trunkline.hg.node import Node, format_nodes, parse_nodes
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.known import read_nodes
from trunkline.hg.wire.replies import Text

PAIRS_LIMIT = 256  # pairs of one `between`, each a walk of the history; stock clients send 8


def branches(exchange: Exchange, arguments: Arguments) -> Text:
    """Four nodes a line: see `Segment`. Raises: PeerError, ClientGone."""
    segments = exchange.view.segments(read_nodes(exchange, arguments), exchange.request.work)
    return Text(b"".join(format_nodes(list(segment)) + b"\n" for segment in segments))


def between(exchange: Exchange, arguments: Arguments) -> Text:
    """A line for each pair. Raises: PeerError past what one request may walk; ClientGone."""
    found = exchange.view.between(read_pairs(exchange, arguments), exchange.request.work)
    return Text(b"".join(format_nodes(nodes) + b"\n" for nodes in found))


def read_pairs(_: Exchange, arguments: Arguments) -> list[tuple[Node, Node]]:
    """Raises: PeerError."""
    pairs = [parse_pair(text) for text in arguments[b"pairs"].split(b" ", PAIRS_LIMIT)]
    if len(pairs) > PAIRS_LIMIT:
        raise PeerError(f"between: more than {PAIRS_LIMIT} pairs")
    return pairs


def parse_pair(text: bytes) -> tuple[Node, Node]:
    """Wire: two hex nodes with a "-" between them. Raises: PeerError."""
    ends = parse_nodes(text, b"-")
    if len(ends) != 2:
        raise PeerError("between: not a pair of changeset ids")
    return ends[0], ends[1]
