"""One obsolescence marker, and its two forms on disk and on the wire.

Wire:   version 0: uint8 number of successors, uint32 BE metadata length, uint8 flags, 20 bytes of
        predecessor, successors, metadata `key:value` parted by NUL; date and parents stand among
        the metadata.
        Version 1: uint32 BE length of all, float64 date, int16 zone in minutes, uint16 flags,
        uint8 successors, parents (3: not recorded), metadata pairs; predecessor, successors and
        parents; a pair of uint8 lengths for each pair of metadata; then those bytes.
Source: hg 7.2.4, mercurial/obsolete.py.
"""

from __future__ import annotations

import struct
from binascii import Error as HexError
from binascii import hexlify, unhexlify
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from mercurial import policy

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, Node

FIXED_0: Final = struct.Struct(">BIB20s")
FIXED_1: Final = struct.Struct(">IdhHBBB")
NO_PARENTS_RECORDED: Final = 3
USING_SHA256: Final = 2

_native: Any = policy.importmod("parsers")

# The fields of one marker, and where the next one starts.
Read = tuple[tuple[Any, ...], int]


class Marker(NamedTuple):
    """`successors` is empty for a pruned changeset; `date` is seconds since 1970 and the zone in
    seconds west; `parents` are the predecessor's, None where they weren't recorded.
    """

    predecessor: Node
    successors: tuple[Node, ...]
    flags: int
    metadata: tuple[tuple[bytes, bytes], ...]
    date: tuple[float, int]
    parents: tuple[Node, ...] | None


# -- reading


def parse_markers(data: bytes, path: str | None = None) -> list[Marker]:
    """Raises: StoreError."""
    version = data[0]
    if version not in READERS:
        raise StoreError(f"obsolescence markers of unknown version {version}", path, 0)
    try:
        markers = [Marker(*fields) for fields in READERS[version](data)]
    except (ValueError, struct.error):
        raise find_damage(data, path) from None
    if any(NULL_NODE in marker.successors for marker in markers):
        raise find_damage(data, path)
    return markers


def find_damage(data: bytes, path: str | None) -> StoreError:
    """Where the first marker starts that can't be read; Mercurial's C code doesn't tell."""
    at, read_one = 1, ONE_READERS[data[0]]
    try:
        while at < len(data):
            fields, after = read_one(data, at)
            if NULL_NODE in fields[1]:
                return StoreError("a marker whose successor is the null changeset", path, at)
            at = after
    except (ValueError, struct.error) as error:
        return StoreError(f"an obsolescence marker can't be read ({error})", path, at)
    return StoreError("obsolescence markers can't be read", path)


def read_v1(data: bytes) -> Iterable[tuple[Any, ...]]:
    """Through Mercurial's C code where it is built: some stores hold a million markers."""
    native = getattr(_native, "fm1readmarkers", None)
    return read_v1_plainly(data) if native is None else native(data, 1, len(data))


def read_v1_plainly(data: bytes) -> Iterator[tuple[Any, ...]]:
    at = 1
    while at < len(data):
        fields, at = read_one_v1(data, at)
        yield fields


def read_one_v1(data: bytes, at: int) -> Read:
    total, seconds, zone, flags, successors, parents, pairs = FIXED_1.unpack_from(data, at)
    after = at + total
    width = 32 if flags & USING_SHA256 else 20
    recorded = 0 if parents == NO_PARENTS_RECORDED else parents
    count = 1 + successors + recorded
    first = at + FIXED_1.size
    lengths = first + count * width
    text = lengths + 2 * pairs
    sizes = data[lengths:text]
    if after > len(data) or text + sum(sizes) != after:
        raise ValueError("cut short or overlong")
    nodes = tuple(data[n : n + width] for n in range(first, lengths, width))
    fields = (
        nodes[0],
        nodes[1 : 1 + successors],
        flags,
        tuple(cut_pairs(data, text, sizes)),
        (seconds, zone * 60),
        None if parents == NO_PARENTS_RECORDED else nodes[1 + successors :],
    )
    return fields, after


def cut_pairs(data: bytes, at: int, sizes: bytes) -> Iterator[tuple[bytes, bytes]]:
    for key, value in zip(sizes[::2], sizes[1::2], strict=True):
        yield data[at : at + key], data[at + key : at + key + value]
        at += key + value


def read_v0(data: bytes) -> Iterator[tuple[Any, ...]]:
    at = 1
    while at < len(data):
        fields, at = read_one_v0(data, at)
        yield fields


def read_one_v0(data: bytes, at: int) -> Read:
    count, length, flags, predecessor = FIXED_0.unpack_from(data, at)
    first = at + FIXED_0.size
    text = first + 20 * count
    if text + length > len(data):
        raise ValueError("cut short")
    successors = tuple(data[n : n + 20] for n in range(first, text, 20))
    metadata = parse_metadata_v0(data[text : text + length])
    date = parse_date(metadata.pop(b"date", b"0 0"))
    parents = take_parents(metadata)
    pairs = tuple(sorted(metadata.items()))
    return (predecessor, successors, flags, pairs, date, parents), text + length


def parse_metadata_v0(data: bytes) -> dict[bytes, bytes]:
    pairs = (item.split(b":", 1) for item in data.split(b"\0") if item)
    return {key: value for key, value in pairs}  # noqa: C416 - raises where a ":" lacks


def parse_date(text: bytes) -> tuple[float, int]:
    try:
        seconds, zone = text.split(b" ")
        return float(seconds), int(zone)
    except ValueError:
        return 0.0, 0


def take_parents(metadata: dict[bytes, bytes]) -> tuple[bytes, ...] | None:
    """Remove p0, p1 and p2 from the metadata; what isn't a changeset id isn't recorded."""
    texts: tuple[bytes | None, ...]
    if b"p2" in metadata:
        texts = (metadata.pop(b"p1", None), metadata.pop(b"p2"))
    elif b"p1" in metadata:
        texts = (metadata.pop(b"p1"),)
    elif b"p0" in metadata:
        metadata.pop(b"p0")
        return ()
    else:
        return None
    try:
        parents = tuple(unhexlify(text or b"") for text in texts)
    except (HexError, ValueError):
        return None
    return parents if all(len(node) == 20 for node in parents) else None


# -- writing


def format_v1(marker: Marker) -> bytes:
    parents = NO_PARENTS_RECORDED if marker.parents is None else len(marker.parents)
    nodes = b"".join((marker.predecessor, *marker.successors, *(marker.parents or ())))
    lengths = bytes(len(text) for pair in marker.metadata for text in pair)
    text = b"".join(text for pair in marker.metadata for text in pair)
    fixed = FIXED_1.pack(
        FIXED_1.size + len(nodes) + len(lengths) + len(text),
        marker.date[0],
        marker.date[1] // 60,
        marker.flags,
        len(marker.successors),
        parents,
        len(marker.metadata),
    )
    return b"".join((fixed, nodes, lengths, text))


def format_v0(marker: Marker) -> bytes:
    metadata = dict(marker.metadata)
    metadata[b"date"] = b"%r %i" % marker.date
    if marker.parents is not None:
        if not marker.parents:
            metadata[b"p0"] = b""
        for number, node in enumerate(marker.parents, 1):
            metadata[b"p%i" % number] = hexlify(node)
    text = b"\0".join(b"%s:%s" % (key, metadata[key]) for key in sorted(metadata))
    fixed = FIXED_0.pack(len(marker.successors), len(text), marker.flags, marker.predecessor)
    return b"".join((fixed, *marker.successors, text))


def format_markers(markers: Iterable[Marker], version: int) -> Iterator[bytes]:
    """The version byte, then one piece a marker. Version 0 has no room for SHA-256 nodes: such
    markers are left out there.
    """
    yield bytes([version])
    one = WRITERS[version]
    for marker in markers:
        if version or not marker.flags & USING_SHA256:
            yield one(marker)


READERS: Final[dict[int, Callable[[bytes], Iterable[tuple[Any, ...]]]]] = {0: read_v0, 1: read_v1}
ONE_READERS: Final[dict[int, Callable[[bytes, int], Read]]] = {0: read_one_v0, 1: read_one_v1}
WRITERS: Final[dict[int, Callable[[Marker], bytes]]] = {0: format_v0, 1: format_v1}
