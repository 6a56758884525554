"""A command on a repository that the installed Mercurial reads for us."""

from __future__ import annotations

from trunkline.errors import PeerError
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.command import Command, Kind, Permission
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Packed, Raw, Reply, Text
from trunkline.hg.wire.served import Served

# Extensions' commands whose reply is a stream; the pipe frames it as if it were a text.
EXTENSION_STREAMS = frozenset({b"getlfile"})


def extension_command(served: Served, name: bytes) -> Command | None:
    """A command that an extension adds to a bridged repository; reading ones only."""
    if served.reason is None:
        return None
    found = served.bridge.commands().get(name)
    if found is None or found.permission != b"pull":
        return None
    kind = Kind.RAW if name in EXTENSION_STREAMS else Kind.TEXT
    return Command(name, found.spec, Permission.PULL, kind, not_ours)


def not_ours(_: Exchange, __: Arguments) -> Reply:
    raise AssertionError("a command of an extension was run by us")


def run(exchange: Exchange, command: Command, arguments: Arguments) -> Reply:
    bridge, sent = exchange.served.bridge, {**arguments.named, **arguments.others}
    if command.kind is not Kind.TEXT:
        blocks = bridge.stream(command.name, sent, exchange.caller)
        if command.kind is Kind.RAW:
            return Raw(blocks)
        # The pipe doesn't say what is better left unpacked: a stream clone is.
        return Packed(blocks, sent.get(b"stream", b"0") not in (b"", b"0"))
    try:
        return Text(bridge.call(command.name, sent, exchange.caller))
    except PeerError as failure:
        if command.name == b"lookup":
            return Text(b"0 %s\n" % failure.text.encode("utf-8", "surrogateescape"))
        raise
