"""The changegroup versions: what stands before each delta.

Wire:   a chunk is int32 BE length (its own 4 bytes included), header, delta. Header:
        01: node p1 p2 link. The delta is against the revision before it in the group; the first
            one's against its p1.
        02: node p1 p2 base link.
        03: node p1 p2 base link, uint16 BE flags; and the manifests' group has an empty group
            after it, where directories would stand.
        Length 0 ends a group.
Source: hg 7.2.4, mercurial/helptext/internals/changegroups.txt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import Final

LENGTH: Final = Struct(">i")
END: Final = LENGTH.pack(0)


@dataclass(frozen=True, slots=True)
class Version:
    """`head` packs node, p1, p2, base, link (20 bytes each) and flags (2 bytes): all of them are
    given to each version, the fields that it doesn't have are zero bytes wide.
    """

    name: bytes
    fields: str
    has_base: bool = True
    has_flags: bool = False
    after_manifests: bytes = b""
    head: Struct = field(init=False)
    # The same with the chunk's length before it; and for a full text with the hunk around it too.
    delta_head: Struct = field(init=False)
    full_head: Struct = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "head", Struct(self.fields))
        object.__setattr__(self, "delta_head", Struct(">i" + self.fields))
        object.__setattr__(self, "full_head", Struct(">i" + self.fields + "iii"))


VERSIONS: Final = {
    version.name: version
    for version in (
        Version(b"01", "20s20s20s0s20s0s", has_base=False),
        Version(b"02", "20s20s20s20s20s0s"),
        Version(b"03", "20s20s20s20s20s2s", has_flags=True, after_manifests=END),
    )
}


class _FlagBytes(dict[int, bytes]):
    def __missing__(self, flags: int) -> bytes:
        return flags.to_bytes(2, "big")


FLAG_BYTES: Final = _FlagBytes({0: b"\0\0"})


def choose_version(offered: tuple[bytes, ...]) -> bytes | None:
    """The newest version that both sides have; None when there is none."""
    return max((name for name in offered if name in VERSIONS), default=None)


def format_path(path: bytes) -> bytes:
    """The chunk that opens a file's group."""
    return LENGTH.pack(len(path) + 4) + path
