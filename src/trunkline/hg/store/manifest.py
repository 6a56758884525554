"""Manifest texts: which file has which node in a changeset.

Wire:   sorted lines of path NUL 40 hex digits [flag] LF; the flag is "l" (link) or "x"
        (executable). A stored delta replaces whole lines, so the lines a delta puts in can be
        read from the delta alone.
Source: hg 7.2.4, mercurial/manifest.py.
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Iterator
from typing import NamedTuple

from trunkline.errors import StoreError
from trunkline.hg.node import Node
from trunkline.hg.store.delta import HUNK


class ManifestLine(NamedTuple):
    """One file of a manifest."""

    path: bytes
    node: Node
    flag: bytes


def lines(text: bytes) -> Iterator[ManifestLine]:
    """Each line of a manifest (or of a hunk's new text). Raises: StoreError."""
    for line in text[:-1].split(b"\n") if text else ():
        path, separator, rest = line.partition(b"\0")
        if not separator or len(rest) < 40:
            raise StoreError(f"a manifest line can't be read: {line[:120]!r}")
        try:
            node = Node(unhexlify(rest[:40]))
        except ValueError:
            raise StoreError(f"a manifest line has no node: {line[:120]!r}") from None
        yield ManifestLine(path, node, rest[40:])


def delta_lines(delta: bytes) -> Iterator[ManifestLine]:
    """The lines that a delta puts in; what it takes out isn't told. Raises: StoreError."""
    at = 0
    while at < len(delta):
        if at + 12 > len(delta):
            raise StoreError("a manifest delta is cut short")
        _, _, length = HUNK.unpack_from(delta, at)
        at += 12
        text = delta[at : at + length]
        if length < 0 or len(text) != length:
            raise StoreError("a manifest delta is cut short")
        yield from lines(text)
        at += length


def find(text: bytes, path: bytes) -> ManifestLine | None:
    """One file's line, without taking the manifest apart. Raises: StoreError."""
    key = path + b"\0"
    at = 0 if text.startswith(key) else text.find(b"\n" + key) + 1
    if at == 0 and not text.startswith(key):
        return None
    end = text.find(b"\n", at)
    return next(lines(text[at : end + 1]))
