"""A command on a repository that the installed Mercurial reads for us."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trunkline.errors import PeerError
from trunkline.hg.node import Node, format_nodes, parse_nodes
from trunkline.hg.stock.stdio import veil
from trunkline.hg.wire import largefiles
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.command import Command, Kind, Permission
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Packed, Raw, Reply, Text
from trunkline.hg.wire.served import Served

SAFE_NAME = re.compile(rb"[A-Za-z0-9_.-]{1,100}")  # it goes to the log

NAMED_NODES = {  # the arguments with nodes that must be there
    b"changegroup": (b"roots",),
    b"changegroupsubset": (b"bases", b"heads"),
    b"getbundle": (b"heads",),
}
KNOWN = ord("1")

# Mercurial walks the history for each, so each counts as a long walk of one request.
WALKED = {b"branches": b"nodes", b"between": b"pairs"}
WALK = 10_000  # revisions; by default a request may have a thousand such walks


def extension_command(served: Served, name: bytes) -> Command | None:
    """A command that an extension adds to a bridged repository; of those that write, only what we
    do ourselves.
    """
    if served.reason is None:
        return None
    if SAFE_NAME.fullmatch(name) is None:
        return None
    found = served.bridge.commands().get(name)
    if found is None or name in largefiles.COMMANDS:
        return None if found is None else largefiles.COMMANDS[name]
    if found.permission != b"pull":
        return None
    return Command(name, found.spec, Permission.PULL, Kind.TEXT, not_ours)


def not_ours(_: Exchange, __: Arguments) -> Reply:
    raise AssertionError("a command of an extension was run by us")


def run(exchange: Exchange, command: Command, arguments: Arguments) -> Reply:
    bridge, sent = exchange.served.bridge, {**arguments.named, **arguments.others}
    if command.kind is not Kind.TEXT:
        for name in NAMED_NODES.get(command.name, ()):
            refuse_unknown(exchange, parse_nodes(sent.get(name, b"")))
        blocks = bridge.stream(command.name, sent, exchange.caller, exchange.request.work)
        if command.kind is not Kind.PACKED:
            return Raw(blocks)
        # The pipe doesn't say what is better left unpacked: a stream clone is.
        return Packed(blocks, sent.get(b"stream", b"0") not in (b"", b"0"))
    if command.name in WALKED:
        exchange.request.work.walk(WALK * len(sent[WALKED[command.name]].split()))
    reply = exchange.ask_bridge(command.name, sent)
    if command.name == b"lookup":
        reply = veil_lookup(reply)
    return Text(reply)


def refuse_unknown(exchange: Exchange, nodes: Sequence[Node]) -> None:
    """Stock's words vary, and tell what is hidden from what isn't there. Raises: PeerError."""
    if not nodes:
        return
    known = exchange.ask_bridge(b"known", {b"nodes": format_nodes(list(nodes))})
    for node, answer in zip(nodes, known, strict=False):
        if answer != KNOWN:
            raise PeerError(f"unknown revision '{node.hex()}'")


def veil_lookup(reply: bytes) -> bytes:
    """`lookup` must not tell that something is there which the peer may not see."""
    found, _, words = reply.rstrip(b"\n").partition(b" ")
    if found != b"0":
        return reply
    text = veil(words.decode("utf-8", "surrogateescape"))
    return b"0 %s\n" % text.encode("utf-8", "surrogateescape")
