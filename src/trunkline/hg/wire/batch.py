"""Several commands in one request.

Wire:   `cmds` is `command arg=value,arg=value;command ...`; the reply is the replies, parted by
        ";". In names, values and replies ":" "," ";" "=" travel as ":c" ":o" ":s" ":e".
Source: hg 7.2.4, helptext/internals/wireprotocol.txt and wireprototypes.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.errors import PeerError

REPLY_LIMIT = 64 * 1024 * 1024  # bytes of all replies of one batch
BATCH_LIMIT = 20_000  # commands in one batch; a `pull -r` sends one lookup for each revision
BATCH_ARGUMENTS_LIMIT = 20_000  # arguments beyond the first of each command, in one batch


@dataclass(frozen=True, slots=True)
class Call:
    command: bytes
    sent: dict[bytes, bytes]


def escape(plain: bytes) -> bytes:
    return plain.replace(b":", b":c").replace(b",", b":o").replace(b";", b":s").replace(b"=", b":e")


def unescape(escaped: bytes) -> bytes:
    """A ":" before any other letter stands for itself, as stock reads it."""
    if b":" not in escaped:
        return escaped
    return (
        escaped.replace(b":e", b"=").replace(b":s", b";").replace(b":o", b",").replace(b":c", b":")
    )


def parse_calls(text: bytes) -> list[Call]:
    """Raises: PeerError."""
    calls = text.split(b";", BATCH_LIMIT)
    if len(calls) > BATCH_LIMIT:
        raise PeerError(f"batch: more than {BATCH_LIMIT} commands")
    if text.count(b",") > BATCH_ARGUMENTS_LIMIT:
        raise PeerError(f"batch: more than {BATCH_ARGUMENTS_LIMIT} arguments")
    return [parse_call(call) for call in calls]


def parse_call(text: bytes) -> Call:
    command, space, arguments = text.partition(b" ")
    if not space:
        raise PeerError(f"batch: no space after the command in {shown(text)}")
    sent: dict[bytes, bytes] = {}
    for argument in arguments.split(b","):
        if argument:
            name, equals, value = argument.partition(b"=")
            if not equals or b"=" in value:
                raise PeerError(f"batch: not name=value: {shown(argument)}")
            sent[unescape(name)] = unescape(value)
    return Call(command, sent)


def format_replies(replies: list[bytes]) -> bytes:
    return b";".join(escape(reply) for reply in replies)


def shown(text: bytes) -> str:
    """A peer's bytes in a message: printable, short."""
    return ascii(text[:40].decode("latin-1"))
