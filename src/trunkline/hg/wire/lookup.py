"""`lookup`, `listkeys`, `branchmap`: names of changesets."""

from __future__ import annotations

from urllib.parse import quote_from_bytes

from trunkline.errors import PeerError
from trunkline.hg.node import format_hex, format_nodes
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Text


def lookup(exchange: Exchange, arguments: Arguments) -> Text:
    """ "1 <node>", or "0 <why not>": not finding it is an ordinary reply."""
    try:
        node = exchange.view.lookup(arguments[b"key"])
    except PeerError as failure:
        return Text(b"0 %s\n" % failure.text.encode("utf-8", "surrogateescape"))
    return Text(b"1 %s\n" % format_hex(node))


def listkeys(exchange: Exchange, arguments: Arguments) -> Text:
    """name TAB value, one a line, sorted; an unknown namespace is empty."""
    keys = exchange.view.listkeys(arguments[b"namespace"])
    return Text(b"\n".join(b"%s\t%s" % pair for pair in keys))


def branchmap(exchange: Exchange, _: Arguments) -> Text:
    """quoted name SP heads, one a line; closed heads too."""
    view = exchange.view

    def make() -> Text:
        return Text(
            b"\n".join(
                b"%s %s" % (quote_from_bytes(name).encode(), format_nodes(heads))
                for name, heads in view.branch_heads().items()
            )
        )

    return exchange.served.keep(f"branchmap of {view.name}", view, make)
