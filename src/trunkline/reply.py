"""Replies are values: a protocol core returns one, a shell decides how to send it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bytes:
    """A whole body in memory; its length is known, so it is sent with Content-Length."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Order:
    """A stream that another process can make again.

    `name` differs wherever its bytes may: letters, digits and "-". `size`: about as many bytes.
    """

    name: str
    size: int
    job: bytes


@dataclass(frozen=True, slots=True)
class Recipe:
    """For a costly stream that others may ask for as well. Units: bytes, about.

    `write` may be called from any thread. It costs something, so small streams go without.
    `is_cheap`: only worth a file of its own when it is asked for more than once.
    """

    size: int
    write: Callable[[], Order]
    is_cheap: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """A body that is made while it is sent.

    `blocks` is pulled from a thread, one block at a time and never from two threads at once, and
    closed (`.close()` where it has one) when the reader goes away. An exception out of it breaks
    the connection before the last chunk, so that no peer takes a torn body for a whole one.
    A `recipe` is only of one that isn't begun.
    """

    blocks: Iterator[bytes]
    recipe: Recipe | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a file on disk, after `head`. Units: bytes; `length` is without the head."""

    path: str
    offset: int
    length: int
    head: bytes = b""

    @property
    def size(self) -> int:
        return len(self.head) + self.length


Body = Bytes | Stream | Span
