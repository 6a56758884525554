"""Every command and its permission on one screen. Source: hg 7.2.4, wireprotov1server.py."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.errors import PeerError
from trunkline.hg.wire import (
    batch,
    bridged,
    capabilities,
    changegroup,
    clonebundles,
    getbundle,
    known,
    legacy,
    lookup,
    own_bundles,
    push,
    stream_out,
    wireargs,
)
from trunkline.hg.wire.arguments import STAR, Arguments, bind
from trunkline.hg.wire.command import Command, Kind, Permission, table
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Reply, Text

PULL, PUSH = Permission.PULL, Permission.PUSH
TEXT, PACKED, RAW, FILE = Kind.TEXT, Kind.PACKED, Kind.RAW, Kind.FILE

Given = dict[tuple[bytes | None, ...], bytes]  # command and arguments -> reply


def run_batch(exchange: Exchange, arguments: Arguments) -> Text:
    """The commands one after the other; a failure of one is the failure of all."""
    calls = batch.parse_calls(arguments[b"cmds"])
    replies: list[bytes] = []
    given: Given = {}
    size = 0
    with exchange.one_state():
        for call in calls:
            replies.append(run_call(exchange, call, given))
            size += len(replies[-1])
            if size > batch.REPLY_LIMIT:
                raise PeerError(f"batch: the replies come to more than {batch.REPLY_LIMIT} bytes")
    return Text(batch.format_replies(replies))


def run_call(exchange: Exchange, call: batch.Call, given: Given) -> bytes:
    """`given`: of the same batch, as the same call again has the same reply. Raises: PeerError."""
    exchange.request.work.look()
    command = COMMANDS.get(call.command) or bridged.extension_command(exchange.served, call.command)
    if command is None or command.kind is not TEXT or command.name == b"batch":
        raise PeerError(f"batch: no such command: {batch.shown(call.command)}")
    is_repeatable = command.is_kept and STAR not in command.arguments
    key = (command.name, *map(call.sent.get, command.arguments))
    if is_repeatable and key in given:
        return given[key]
    reply = run(exchange, command, call.sent)
    assert isinstance(reply, Text)
    if is_repeatable:
        given[key] = reply.data
    return reply.data


def run(exchange: Exchange, command: Command, sent: Mapping[bytes, bytes]) -> Reply:
    """The permission is looked at here, so no way to a command leads past it. Raises: PeerError."""
    exchange.request.work.look()
    if command.permission is PUSH:
        push.check_push(exchange.request)
    exchange.may_keep = exchange.may_keep and command.is_kept
    arguments = bind(command.name, command.arguments, sent)
    if command.is_ours or exchange.native is not None:
        return command.run(exchange, arguments)
    command.check(exchange, arguments)
    return bridged.run(exchange, command, arguments)


# fmt: off
COMMANDS = table([
    Command(b"batch", (b"cmds", b"*"), PULL, TEXT, run_batch, is_ours=True, is_read_in_pieces=True,
            is_kept=True),
    Command(b"between", (b"pairs",), PULL, TEXT, legacy.between,
            check=legacy.read_pairs, is_kept=True),
    Command(b"branches", (b"nodes",), PULL, TEXT, legacy.branches,
            check=known.read_nodes, is_kept=True),
    Command(b"branchmap", (), PULL, TEXT, lookup.branchmap, is_kept=True),
    Command(b"capabilities", (), PULL, TEXT, capabilities.capabilities, is_ours=True, is_kept=True),
    Command(b"changegroup", (b"roots",), PULL, PACKED, changegroup.changegroup,
            check=changegroup.read_roots),
    Command(b"changegroupsubset", (b"bases", b"heads"), PULL, PACKED, changegroup.subset,
            check=changegroup.read_ends),
    Command(b"clonebundles", (), PULL, TEXT, clonebundles.clonebundles),
    Command(b"clonebundles_manifest", (b"*",), PULL, TEXT, clonebundles.clonebundles_manifest),
    Command(b"debugwireargs", (b"one", b"two", b"*"), PULL, TEXT, wireargs.debugwireargs,
            is_ours=True),
    Command(b"get_cached_bundle_inline", (b"path",), PULL, FILE,
            clonebundles.get_cached_bundle_inline, check=clonebundles.find_bundle),
    Command(b"getbundle", (b"*",), PULL, PACKED, getbundle.getbundle,
            check=getbundle.check_getbundle),
    Command(b"heads", (), PULL, TEXT, known.heads, is_kept=True),
    Command(b"hello", (), PULL, TEXT, capabilities.hello, is_ours=True, is_kept=True),
    Command(b"known", (b"nodes", b"*"), PULL, TEXT, known.known, check=known.read_nodes,
            is_kept=True),
    Command(b"listkeys", (b"namespace",), PULL, TEXT, lookup.listkeys, is_kept=True),
    Command(b"lookup", (b"key",), PULL, TEXT, lookup.lookup, is_kept=True),
    Command(b"protocaps", (b"caps",), PULL, TEXT, wireargs.protocaps, is_ours=True),
    Command(b"pushkey", (b"namespace", b"key", b"old", b"new"), PUSH, TEXT, push.pushkey,
            is_ours=True),
    Command(b"stream_out", (), PULL, RAW, stream_out.stream_out),
    Command(own_bundles.COMMAND, (b"name",), PULL, FILE, own_bundles.bundle_reply, is_ours=True),
    Command(b"unbundle", (b"heads",), PUSH, RAW, push.unbundle, is_ours=True),
])
# fmt: on
