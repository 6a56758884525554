"""The way in: one request, one answer.

A fault of the peer is an `application/hg-error` with status 200, which a stock client shows as
"remote: ..." words; its text is one line. Where HTTP has its own word for it (a limit, a method, a
permission), that status is used, with the body that stock gives.
"""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.errors import PeerError, StoreError
from trunkline.hg.wire.arguments import command_name, parse_query
from trunkline.hg.wire.bridged import extension_command
from trunkline.hg.wire.command import Command
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.kept import Key
from trunkline.hg.wire.negotiate import (
    MEDIA_TYPE_0_1,
    MEDIA_TYPE_ERROR,
    negotiate,
    pack_text,
)
from trunkline.hg.wire.recipe import make_recipe
from trunkline.hg.wire.replies import File, Packed, Reply, Text
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.state import State
from trunkline.hg.wire.table import COMMANDS, run
from trunkline.reply import Body, Bytes, Stream

HEADERS = b"x-hg"  # of the protocol
BAD_REQUEST = 400  # of a PeerError: nothing more special is known


@dataclass(frozen=True, slots=True)
class Answer:
    """A `Bytes` body wants a Content-Length, which isn't among `headers`; a `Stream` has none.

    `command` and `engine` are for the access log; `engine` is "" for what isn't packed.
    """

    status: int
    headers: list[tuple[bytes, bytes]]
    body: Body
    command: str = ""
    engine: str = ""


def requested_command(query: bytes) -> bytes | None:
    """The `cmd` of a query; None when it is no request of this protocol. Raises: PeerError."""
    return command_name(parse_query(query))


def answer(served: Served, request: Request, state: State | None = None) -> Answer:
    """Synchronous, and may read the disk: run it in a thread. `state` must have been looked at
    after the request came; without one, the disk is.

    Raises: StoreError, SettingsError; out of a `Stream` body too, which must break the connection.
    """
    command: Command | None = None
    try:
        query = parse_query(request.query)
        name = command_name(query) or b""
        command = COMMANDS.get(name) or extension_command(served, name)
        if command is None:
            raise PeerError(f"no such method: {ascii(name[:40].decode('latin-1'))[1:-1]}")
        exchange = Exchange(served, request, query, state)
        made = format_reply(exchange, command, run(exchange, command, exchange.sent))
    except PeerError as failure:
        return format_failure(command, failure)
    except StoreError as failure:
        failure.command = command.name.decode() if command else ""
        raise
    keep(exchange, made)
    return made


def kept_answer(state: State, request: Request) -> Answer | None:
    """What the same request was answered in the same state, if that was kept. Whether it is
    allowed must have been asked before."""
    if state.snapshot is None:
        return None
    found = state.served.answers.get(state.snapshot, answer_key(state, request))
    if found is None:
        return None
    return Answer(found.status, found.headers.copy(), found.body, found.command, found.engine)


def keep(exchange: Exchange, made: Answer) -> None:
    if not exchange.may_keep or exchange.asks_for_hidden or not isinstance(made.body, Bytes):
        return
    state, request = exchange.state, exchange.request
    if state.snapshot is not None:
        answer = Answer(made.status, made.headers.copy(), made.body, made.command, made.engine)
        size = request_size(request) + len(made.body.data)
        state.served.answers.put(state.snapshot, answer_key(state, request), answer, size)


def answer_key(state: State, request: Request) -> Key:
    """All of a request and of what the snapshot leaves open that an answer may depend on."""
    said = [header for header in request.headers.items() if header[0].startswith(HEADERS)]
    who = request.user, request.may_need_login, request.is_near
    return (state.has_clone_bundles, request.query, request.body, who, *said)


def request_size(request: Request) -> int:
    headers = sum(len(name) + len(value) for name, value in request.headers.items())
    return len(request.query) + len(request.body) + headers


def format_reply(exchange: Exchange, command: Command, reply: Reply) -> Answer:
    name = command.name.decode()
    if isinstance(reply, Text):
        if command.is_read_in_pieces:
            packed = pack_text(exchange.served.engines, exchange.client, reply.data)
            if packed is not None:
                packing, data = packed
                return Answer(
                    200, content(packing.media_type), Bytes(data), name, packing.engine.name
                )
        return Answer(200, content(MEDIA_TYPE_0_1), Bytes(reply.data), name)
    if isinstance(reply, File):
        return Answer(reply.status, list(reply.headers), reply.body, name)
    if isinstance(reply, Packed):
        packing = negotiate(exchange.served.engines, exchange.client, reply.prefer_uncompressed)
        return Answer(
            200,
            content(packing.media_type),
            Stream(
                packing.pack(reply.blocks),
                make_recipe(exchange, command, reply.repeatable, packing),
            ),
            name,
            packing.engine.name,
        )
    recipe = make_recipe(exchange, command, reply.repeatable, None)
    return Answer(200, content(MEDIA_TYPE_0_1), Stream(reply.blocks, recipe), name)


def format_failure(command: Command | None, failure: PeerError) -> Answer:
    text = failure.text.encode("utf-8", "surrogateescape").strip() + b"\n"
    if command is None:
        return Answer(failure.status, content(MEDIA_TYPE_ERROR), Bytes(text))
    name = command.name.decode()
    if failure.status == BAD_REQUEST:
        return Answer(200, content(MEDIA_TYPE_ERROR), Bytes(text), name)
    return Answer(failure.status, content(MEDIA_TYPE_0_1), Bytes(b"0\n" + text), name)


def content(media_type: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-type", media_type)]
