"""What a command gives back, before anything is known of media types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trunkline.reply import Bytes, Span


@dataclass(frozen=True, slots=True)
class Text:
    """A whole reply in memory."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Repeatable:
    """Of a stream that is the same for whoever asks the same: the arguments in one form, and about
    how large it is. `is_stored_form`: as the store has it, so the packing makes no difference.
    """

    asked: bytes
    size: int
    is_stored_form: bool = False


@dataclass(frozen=True, slots=True)
class Packed:
    """A stream that the client unpacks by the negotiated engine."""

    blocks: Iterator[bytes]
    prefer_uncompressed: bool = False
    repeatable: Repeatable | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """A stream that the client takes as it is, in every version of the protocol."""

    blocks: Iterator[bytes]
    repeatable: Repeatable | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A file, or a part of one, by the rules of HTTP alone."""

    body: Bytes | Span
    status: int = 200
    headers: Sequence[tuple[bytes, bytes]] = ()


Reply = Text | Packed | Raw | File
