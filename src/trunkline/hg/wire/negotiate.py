"""Media type and compression engine of a reply.

Wire:   `application/mercurial-0.1` is zlib where the client expects a packed stream, plain
        elsewhere. `application/mercurial-0.2` starts with one byte of length and the wire name of
        the engine that packed the rest; `none` is one.
Source: hg 7.2.4, helptext/internals/wireprotocol.txt and wireprotoserver.py (_httpresponsetype).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trunkline.compression.engine import Engine
from trunkline.compression.table import Chosen, choose, engines_for, installed
from trunkline.config.hgconfig import HgConfig
from trunkline.hg.wire.proto import ClientProtocol

MEDIA_TYPE_0_1 = b"application/mercurial-0.1"
MEDIA_TYPE_0_2 = b"application/mercurial-0.2"
MEDIA_TYPE_ERROR = b"application/hg-error"

TEXT_PACK_LIMIT = 4 * 1024  # bytes: a text of no more than this is not worth packing


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of one configuration: `offered` in order of preference, `legacy` for 0.1."""

    offered: tuple[Chosen, ...]
    legacy: Chosen
    none: Chosen


def configured_engines(config: HgConfig) -> Engines:
    """Raises: SettingsError."""
    table = installed()
    return Engines(engines_for(config), choose(table["zlib"], config), Chosen(table["none"], None))


@dataclass(frozen=True, slots=True)
class Packing:
    media_type: bytes
    chosen: Chosen

    @property
    def engine(self) -> Engine:
        return self.chosen.engine

    @property
    def header(self) -> bytes:
        """What comes before the payload."""
        if self.media_type != MEDIA_TYPE_0_2:
            return b""
        return bytes([len(self.engine.wire_name)]) + self.engine.wire_name

    def pack(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """`blocks` are closed at the end, also where the client went away."""
        try:
            packed = self.engine.compress(blocks, self.chosen.level)
            # The header rides on the first block: a few bytes alone cost a packet and a chunk.
            yield self.header + next(packed, b"")
            yield from packed
        finally:
            close = getattr(blocks, "close", None)
            if close is not None:
                close()


def negotiate(engines: Engines, client: ClientProtocol, prefer_uncompressed: bool) -> Packing:
    """The server's first engine that the client takes; 0.1 with zlib when there is none."""
    if client.takes_0_2:
        if prefer_uncompressed:
            return Packing(MEDIA_TYPE_0_2, engines.none)
        common = first_common(engines, client)
        if common is not None:
            return Packing(MEDIA_TYPE_0_2, common)
    return Packing(MEDIA_TYPE_0_1, engines.legacy)


def first_common(engines: Engines, client: ClientProtocol) -> Chosen | None:
    for chosen in engines.offered:
        if chosen.engine.wire_name in client.engines:
            return chosen
    return None


def pack_text(
    engines: Engines, client: ClientProtocol, data: bytes
) -> tuple[Packing, bytes] | None:
    """The text under 0.2, when that is worth it and the client announced what it takes.

    None: send it as 0.1. Only for commands whose reply a stock client reads in pieces; the note
    docs/notes/compressed-texts.md says why.
    """
    if len(data) <= TEXT_PACK_LIMIT or not client.takes_0_2 or client.announced_engines is None:
        return None
    chosen = first_common(engines, client)
    if chosen is None or chosen.engine is engines.none.engine:
        return None
    packing = Packing(MEDIA_TYPE_0_2, chosen)
    packed = b"".join(packing.pack(iter((data,))))
    return (packing, packed) if len(packed) < len(data) else None
