"""Bookmarks: names that move.

Wire:   a line for each: 40 hex digits, a space, the name in UTF-8. In `.hg/bookmarks`, or in
        `.hg/store/bookmarks` when the repository requires `bookmarksinstore`.
Source: hg 7.2.4, mercurial/bookmarks.py and hgext/share.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from trunkline.errors import PeerError
from trunkline.hg.node import Node, parse_hex

ENTRY: Final = struct.Struct(">20sH")


def parse_bookmarks(data: bytes) -> dict[bytes, Node]:
    """A line that isn't one is passed over, as stock does (it warns)."""
    bookmarks: dict[bytes, Node] = {}
    for line in data.split(b"\n"):
        words = line.strip().split(b" ", 1)
        if len(words) != 2:
            continue
        try:
            bookmarks[words[1]] = parse_hex(words[0])
        except PeerError:
            continue
    return bookmarks


def is_divergent(name: bytes) -> bool:
    """`name@other`: a local note that a pull met a bookmark elsewhere. Never shown to peers."""
    return b"@" in name and not name.endswith(b"@")


def format_bookmarks(bookmarks: Iterable[tuple[bytes, Node]]) -> bytes:
    """The data of a bundle2 `bookmarks` part. Wire: node, uint16 BE length, name, each.

    The order is the one given; a name longer than the wire can say is left out.
    """
    return b"".join(
        ENTRY.pack(node, len(name)) + name for name, node in bookmarks if len(name) < 1 << 16
    )
