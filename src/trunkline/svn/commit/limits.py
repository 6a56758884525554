"""How large the parts of a commit stream may be."""

from __future__ import annotations

from dataclasses import dataclass

MiB = 1024 * 1024
GiB = 1024 * MiB

# Of the format itself: no server takes more.
DATA_BYTES = 1 * MiB  # of one data record
KEY_BYTES = 64
PATH_BYTES = 32 * 1024
PATH_NAMES = 1024  # in one path: how deep a tree is
NAME_BYTES = 1024  # of a property's name
TOKEN_BYTES = 1024  # of a lock token


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one server; a stream past one is answered 413. Units: bytes, unless said."""

    record: int = 16 * MiB  # any record but data: property values are in those
    text: int = 64 * GiB  # one text's data
    stream: int = 256 * GiB  # after its content coding is taken off
    operations: int = 10_000_000  # count
    tokens: int = 100_000  # count of lock tokens, which are held in memory
    revprops: int = 1000  # count
    wait: int = 60  # seconds for another commit by the same key
