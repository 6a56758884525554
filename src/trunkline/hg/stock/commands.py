"""Requests on the SSH transport, which needs to know a command's arguments to frame them.

The installed Mercurial itself says what commands it has (see `inside`), those of its extensions
too, so no table here can be of another version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from trunkline.errors import PeerError

_NAME = re.compile(rb"[A-Za-z0-9_.:-]+\Z")


@dataclass(frozen=True, slots=True)
class Command:
    """`permission` is b"pull" or b"push"; `spec` names the arguments, b"*" takes any others."""

    permission: bytes
    spec: tuple[bytes, ...]


def parse_command(line: bytes) -> tuple[bytes, Command]:
    """Wire: name SP permission (SP argument)*"""
    name, permission, *spec = line.split()
    return name, Command(permission, tuple(spec))


def format_request(name: bytes, spec: tuple[bytes, ...], arguments: dict[bytes, bytes]) -> bytes:
    """One request.

    Wire:   name LF, then for each argument: name SP length LF value; "*" SP count LF stands before
            the free ones. No name may hold a space or line feed: it would be taken for the next
            line.
    Raises: PeerError for a missing argument or a name that can't be sent.
    """
    parts = [name, b"\n"]
    free = dict(arguments)
    for word in spec:
        if word == b"*":
            continue
        value = free.pop(word, None)
        if value is None:
            raise PeerError(f"{name.decode()}: argument {word.decode()!r} is missing")
        parts += [b"%s %d\n" % (word, len(value)), value]
    if b"*" in spec:
        parts.append(b"* %d\n" % len(free))
        for word, value in free.items():
            if not _NAME.match(word):
                raise PeerError(f"not a name of an argument: {word[:60].decode('latin-1')!r}")
            parts += [b"%s %d\n" % (word, len(value)), value]
    return b"".join(parts)
