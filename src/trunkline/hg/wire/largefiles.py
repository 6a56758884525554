"""Commands of the extension largefiles that carry contents: we keep them where it does.

Source: hg 7.2.4, hgext/largefiles/proto.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.errors import PeerError
from trunkline.hg.large.blobs import CORRUPT, Blob, Blobs
from trunkline.hg.large.places import largefiles_blobs
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.command import Command, Kind, Permission
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Raw, Text

HERE, MISSING = b"0\n", b"2\n"
STORED, FAILED = b"0\n", b"1\n"
NO_MATCH = b"largefiles: failed to put %s into store: largefile contents do not match hash\n"


def getlfile(exchange: Exchange, arguments: Arguments) -> Raw:
    """Wire: the length in decimal, LF, the contents. A status makes clients name the file that is
    missing, and go on with the others.
    """
    blobs, name = blobs_of(exchange), name_of(arguments)
    blob = blobs.find(name) if blobs.is_name(name) else None
    if blob is None:
        raise PeerError(f"requested largefile {name[:80]} not present in cache", status=404)
    return Raw(with_length(blobs, name, blob))


def with_length(blobs: Blobs, name: str, blob: Blob) -> Iterator[bytes]:
    yield b"%d\n" % blob.size
    yield from blobs.read(name, blob)


def statlfile(exchange: Exchange, arguments: Arguments) -> Text:
    blobs, name = blobs_of(exchange), name_of(arguments)
    return Text(HERE if blobs.is_name(name) and blobs.find(name) else MISSING)


def putlfile(exchange: Exchange, arguments: Arguments) -> Text:
    blobs, name = blobs_of(exchange), name_of(arguments)
    if not blobs.is_name(name):
        raise PeerError("putlfile: sha must have 40 hexadecimal digits")
    try:
        blobs.receive(name, exchange.request.payload or iter(()))
    except PeerError as error:
        if error.status != CORRUPT:
            raise
        return Text(FAILED + NO_MATCH % name.encode())
    return Text(STORED)


def blobs_of(exchange: Exchange) -> Blobs:
    return largefiles_blobs(exchange.served.root, exchange.config)


def name_of(arguments: Arguments) -> str:
    return arguments[b"sha"].decode("latin-1")


PULL, PUSH = Permission.PULL, Permission.PUSH
COMMANDS = {
    command.name: command
    for command in (
        Command(b"getlfile", (b"sha",), PULL, Kind.RAW, getlfile, is_ours=True),
        Command(b"putlfile", (b"sha",), PUSH, Kind.RAW, putlfile, is_ours=True),
        Command(b"statlfile", (b"sha",), PULL, Kind.TEXT, statlfile, is_ours=True),
    )
}
