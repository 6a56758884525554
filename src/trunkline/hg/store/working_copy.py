"""What a repository's working copy stands on: its parents, and a merge that isn't resolved.

A server's working copy matters for two things only: `.` in `lookup`, and that changesets under
it stay visible though they are obsolete.

Wire:   `.hg/dirstate`: 20 bytes for each parent first; version 2 has a 12-byte marker, then 32
        bytes for each (20 used). `.hg/merge/state2`: records of one byte type, uint32 BE length
        and data. `.hg/merge/state`, older: the local node in hex, then a line a file.
Source: hg 7.2.4, mercurial/dirstateutils/docket.py and mergestate.py.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from trunkline.errors import PeerError, StoreError
from trunkline.hg.node import NULL_NODE, Node, parse_hex

V2_MARKER: Final = b"dirstate-v2\n"
V2_WIDTH: Final = 32  # bytes kept for a node
LENGTH: Final = struct.Struct(">I")
# Records that tell of one file: path, NUL, state ("u" and "pu": unresolved), NUL, more.
FILE_RECORDS: Final = frozenset(b"FCPDR")

Records = list[tuple[int, bytes]]


class Parents(NamedTuple):
    """Null for one that isn't there."""

    p1: Node
    p2: Node


def parse_parents(data: bytes) -> Parents:
    start, width = (len(V2_MARKER), V2_WIDTH) if data.startswith(V2_MARKER) else (0, 20)
    if len(data) < start + width + 20:
        return Parents(NULL_NODE, NULL_NODE)
    second = start + width
    return Parents(Node(data[start : start + 20]), Node(data[second : second + 20]))


def unresolved_sides(new: bytes, old: bytes, parents: Parents, hg_path: str) -> list[Node]:
    """The two sides of a merge with files still in conflict; none where there is no such merge.

    `new` and `old`: what the two files hold. Raises: StoreError.
    """
    path = hg_path + "/merge/state2"
    records = parse_records(new, path)
    older = parse_old_records(old)
    if any(record not in without_other_nodes(records) for record in older):
        other = parents.p2 if parents.p2 != NULL_NODE else parents.p1
        records = [*older, (ord("O"), other.hex().encode())]
    if not any(kind in FILE_RECORDS and is_unresolved(data) for kind, data in records):
        return []
    try:
        return [parse_hex(data) for kind, data in records if kind in b"LO"]
    except PeerError:
        raise StoreError("a merge state without its nodes", path, 0) from None


def parse_records(data: bytes, path: str | None = None) -> Records:
    """Raises: StoreError."""
    records: Records = []
    at = 0
    while at < len(data):
        if at + 5 > len(data):
            raise StoreError("a merge state is cut short", path, at)
        kind, (length,) = data[at], LENGTH.unpack_from(data, at + 1)
        record = data[at + 5 : at + 5 + length]
        if kind == ord("t"):  # written so that hg before 3.7 passes over it
            kind, record = (record[0] if record else kind), record[1:]
        records.append((kind, record))
        at += 5 + length
    return records


def parse_old_records(data: bytes) -> Records:
    lines = data.split(b"\n")[:-1]
    return [(ord("F") if number else ord("L"), line) for number, line in enumerate(lines)]


def without_other_nodes(records: Records) -> Records:
    """As the older file would have it: it lacks the other side's file node."""
    shorter: Records = []
    for kind, data in records:
        if kind == ord("F"):
            bits = data.split(b"\0")
            data = b"\0".join(bits[:-2] + bits[-1:])
        shorter.append((kind, data))
    return shorter


def is_unresolved(data: bytes) -> bool:
    return data.split(b"\0", 2)[1:2] in ([b"u"], [b"pu"])
