"""What a command gives back, before anything is known of media types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """A whole reply in memory."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Packed:
    """A stream that the client unpacks by the negotiated engine."""

    blocks: Iterator[bytes]
    prefer_uncompressed: bool = False


@dataclass(frozen=True, slots=True)
class Raw:
    """A stream that the client takes as it is, in every version of the protocol."""

    blocks: Iterator[bytes]


Reply = Text | Packed | Raw
