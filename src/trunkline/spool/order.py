"""What a worker asks its nursery for, and what it is told.

Wire:   over a pipe, between two processes of ours: uint32 BE length, then a pickle.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from enum import Enum
from struct import Struct
from typing import Any

from trunkline.reply import Order
from trunkline.spool.room import Limits

LENGTH = Struct(">I")
READ_SIZE = 1024 * 1024  # bytes


class Outcome(Enum):
    CLAIMED = "a builder of ours makes it"
    TAKEN = "another makes it, or has"
    BUSY = "too many builds wait"
    TROUBLE = "the folder can't be used now"


@dataclass(frozen=True, slots=True)
class Terms:
    """How a nursery works. `maker` is MODULE:FUNCTION, which takes an order and gives blocks."""

    folder: str
    maker: str
    builders: int
    queue: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class Call:
    """`dead`: see `claim`."""

    order: Order
    dead: int = 0


def format_frame(value: object) -> bytes:
    data = pickle.dumps(value)
    return LENGTH.pack(len(data)) + data


class Frames:
    """Cuts what came through the pipe."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        self._held += data
        found = []
        while len(self._held) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._held)[0]
            if len(self._held) < end:
                break
            found.append(pickle.loads(self._held[LENGTH.size : end]))
            del self._held[:end]
        return found
