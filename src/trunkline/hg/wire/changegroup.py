"""`changegroup` and `changegroupsubset`: what pulls were made of before `getbundle`."""

from __future__ import annotations

from trunkline.hg.bundle.changegroup import changegroup as make_changegroup
from trunkline.hg.bundle.estimate import changegroup_size
from trunkline.hg.bundle.outgoing import outgoing_from_roots
from trunkline.hg.node import Node
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.known import parse_limited
from trunkline.hg.wire.replies import Packed, Repeatable

VERSION = b"01"


def changegroup(exchange: Exchange, arguments: Arguments) -> Packed:
    """Everything that descends from `roots`."""
    return descendants(exchange, read_roots(exchange, arguments), ())


def subset(exchange: Exchange, arguments: Arguments) -> Packed:
    """What descends from `bases` and is an ancestor of `heads`."""
    return descendants(exchange, *read_ends(exchange, arguments))


def read_roots(_: Exchange, arguments: Arguments) -> tuple[Node, ...]:
    """Raises: PeerError."""
    return parse_limited(arguments[b"roots"])


def read_ends(_: Exchange, arguments: Arguments) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Raises: PeerError."""
    return parse_limited(arguments[b"bases"]), parse_limited(arguments[b"heads"])


def descendants(exchange: Exchange, roots: tuple[Node, ...], heads: tuple[Node, ...]) -> Packed:
    outgoing = outgoing_from_roots(exchange.view, roots, heads)
    asked = b"%d:%b" % (len(roots), b"".join([*sorted(roots), *sorted(heads)]))
    size = changegroup_size(exchange.snapshot, outgoing)
    blocks = make_changegroup(exchange.view, outgoing, VERSION)
    return Packed(blocks, repeatable=Repeatable(asked, size))
