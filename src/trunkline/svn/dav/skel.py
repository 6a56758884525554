"""Skels: Subversion's lists of atoms, as the body of a POST.

Wire:   atom = a word of letters, or a length, a space and so many bytes; list = ( items ).
Source: subversion 1.14, libsvn_subr/skel.c.
"""

from __future__ import annotations

from trunkline.errors import PeerError

SPACES = b" \t\n\r\f"
DEPTH_LIMIT = 32
DIGITS_LIMIT = 10

Skel = bytes | list["Skel"]


def parse_skel(data: bytes) -> Skel:
    """Raises: PeerError for what is none, and for what follows one."""
    value, at = _parse(data, skip(data, 0), 0)
    if skip(data, at) != len(data):
        raise PeerError("the body has more than one skel")
    return value


def skip(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in SPACES:
        at += 1
    return at


def _parse(data: bytes, at: int, depth: int) -> tuple[Skel, int]:
    if at >= len(data) or depth > DEPTH_LIMIT:
        raise PeerError("the body is no skel")
    first = data[at : at + 1]
    if first == b"(":
        return _parse_list(data, at + 1, depth)
    if first.isdigit():
        return _parse_sized(data, at)
    if first.isalpha():
        end = at
        while end < len(data) and data[end] not in SPACES + b"()":
            end += 1
        return data[at:end], end
    raise PeerError("the body is no skel")


def _parse_list(data: bytes, at: int, depth: int) -> tuple[Skel, int]:
    items: list[Skel] = []
    while True:
        at = skip(data, at)
        if data[at : at + 1] == b")":
            return items, at + 1
        item, at = _parse(data, at, depth + 1)
        items.append(item)


def _parse_sized(data: bytes, at: int) -> tuple[Skel, int]:
    end = at
    while end < len(data) and data[end : end + 1].isdigit():
        end += 1
    size = int(data[at:end]) if end - at <= DIGITS_LIMIT else len(data) + 1
    start = end + 1
    if data[end : end + 1] not in (b" ", b"\n", b"\t", b"\r", b"\f") or start + size > len(data):
        raise PeerError("the body is no skel")
    return data[start : start + size], start + size


def parse_properties(skel: Skel) -> list[tuple[bytes, bytes]]:
    """Of a list of names and values in turn. Raises: PeerError."""
    if not isinstance(skel, list) or len(skel) % 2:
        raise PeerError("the body has no list of properties")
    words = [item for item in skel if isinstance(item, bytes)]
    if len(words) != len(skel):
        raise PeerError("the body has no list of properties")
    return list(zip(words[::2], words[1::2], strict=True))
