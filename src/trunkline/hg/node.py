"""The two names that a revision has: its node (20 bytes of SHA-1) and its number in one revlog."""

from __future__ import annotations

from binascii import Error as HexError
from binascii import hexlify, unhexlify
from typing import NewType

from trunkline.errors import PeerError

Node = NewType("Node", bytes)
HexNode = NewType("HexNode", bytes)
Rev = NewType("Rev", int)

NODE_LENGTH = 20
NULL_NODE = Node(bytes(NODE_LENGTH))
NULL_REV = Rev(-1)


def format_hex(node: bytes) -> HexNode:
    """40 lower-case hex digits."""
    return HexNode(hexlify(node))


def parse_hex(text: bytes) -> Node:
    """A node from exactly 40 hex digits. Raises: PeerError."""
    try:
        node = unhexlify(text)
    except (HexError, ValueError):
        node = b""
    if len(node) != NODE_LENGTH:
        raise PeerError(
            f"not a changeset id: {text[:60].decode('latin-1')!r} (40 hex digits expected)"
        )
    return Node(node)


def parse_nodes(text: bytes, separator: bytes = b" ") -> tuple[Node, ...]:
    """A separated list of hex nodes; empty text is no nodes. Raises: PeerError."""
    return tuple(parse_hex(word) for word in text.split(separator)) if text else ()


def format_nodes(nodes: tuple[Node, ...] | list[Node], separator: bytes = b" ") -> bytes:
    return separator.join(hexlify(node) for node in nodes)
