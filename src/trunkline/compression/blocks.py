"""Sizes of the blocks that travel: each one costs both ends some calls and a chunk header."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MIN_BLOCK = 64 * 1024  # bytes


def coalesce(blocks: Iterable[bytes], size: int = MIN_BLOCK) -> Iterator[bytes]:
    """The same bytes in blocks of at least `size`, the last one excepted; none is empty.

    A block that is large enough passes as it is, without a copy.
    """
    held: list[bytes] = []
    length = 0
    for block in blocks:
        if not held and len(block) >= size:
            yield block
            continue
        if block:
            held.append(block)
            length += len(block)
        if length >= size:
            yield b"".join(held)
            held.clear()
            length = 0
    if held:
        yield b"".join(held)


def take(blocks: Iterator[bytes], size: int) -> tuple[bytes, bool]:
    """Join blocks until more than `size` bytes are held: (those bytes, whether that is all)."""
    held: list[bytes] = []
    length = 0
    for block in blocks:
        held.append(block)
        length += len(block)
        if length > size:
            return b"".join(held), False
    return b"".join(held), True
