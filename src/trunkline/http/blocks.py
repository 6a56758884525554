"""A reply's body in pieces of a size that is cheap to hand over. Used by one thread at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from trunkline.errors import StoreError
from trunkline.reply import Span
from trunkline.work import Work

ENOUGH = 512 * 1024  # bytes; with as much to send, no more blocks are waited for
LONGEST = 1024 * 1024  # bytes; a longer block is cut
READ_SIZE = 512 * 1024  # bytes of a file at once

FIRST_SECONDS = 0.005  # a first piece is sent early: somebody waits for the first byte
LONGEST_SECONDS = 0.05  # later ones wait longer and longer, up to this: few pieces cost less


@dataclass(frozen=True, slots=True)
class Piece:
    data: bytes
    is_last: bool


class Pieces:
    """Puts small blocks together, cuts long ones, and knows which piece is the last."""

    def __init__(
        self, blocks: Iterator[bytes], work: Work | None = None, patience: float = FIRST_SECONDS
    ) -> None:
        self._blocks = blocks
        self._work = work or Work()
        self._held = memoryview(b"")  # of a block that was too long
        self._patience = patience
        self._is_closed = False

    def pull(self) -> Piece:
        """Raises: what the blocks raise; ClientGone."""
        parts: list[bytes] = []
        size, until = 0, time.monotonic() + self._patience
        self._patience = min(2 * self._patience, LONGEST_SECONDS)
        while True:
            block = self._next()
            if block is None:
                return Piece(joined(parts), is_last=True)
            parts.append(block)
            size += len(block)
            if size >= ENOUGH or (size and time.monotonic() > until):
                return Piece(joined(parts), is_last=False)

    def _next(self) -> bytes | None:
        self._work.look()
        if not self._held:
            block = next(self._blocks, None)
            if block is None or len(block) <= LONGEST:
                return block
            self._held = memoryview(block)
        cut, self._held = self._held[:LONGEST], self._held[LONGEST:]
        return bytes(cut)

    def leave(self, *_: object) -> None:
        """Nobody wants more: a `pull` that runs ends at the next block. From any thread."""
        self._work.leave()

    def close(self) -> None:
        """Never while `pull` runs."""
        if self._is_closed:
            return
        self._is_closed = True
        self._held = memoryview(b"")
        close = getattr(self._blocks, "close", None)
        if close is not None:
            close()


def joined(parts: list[bytes]) -> bytes:
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_span(span: Span) -> Iterator[bytes]:
    """Raises: StoreError when the file is shorter than it was, or can't be read."""
    offset, left = span.offset, span.length
    try:
        descriptor = os.open(span.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(f"can't be opened: {error.strerror}", span.path) from error
    try:
        while left:
            data = os.pread(descriptor, min(left, READ_SIZE), offset)
            if not data:
                raise StoreError(f"{left} bytes are missing", span.path, offset)
            offset += len(data)
            left -= len(data)
            yield data
    except OSError as error:
        raise StoreError(f"can't be read: {error.strerror}", span.path, offset) from error
    finally:
        os.close(descriptor)
