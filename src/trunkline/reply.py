"""Replies are values: a protocol core returns one, a shell decides how to send it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bytes:
    """A whole body in memory; its length is known, so it is sent with Content-Length."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Stream:
    """A body that is made while it is sent.

    `blocks` is pulled from a thread, one block at a time and never from two threads at once, and
    closed (`.close()` where it has one) when the reader goes away. An exception out of it breaks
    the connection before the last chunk, so that no peer takes a torn body for a whole one.
    """

    blocks: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a file on disk. Units: bytes."""

    path: str
    offset: int
    length: int


Body = Bytes | Stream | Span
