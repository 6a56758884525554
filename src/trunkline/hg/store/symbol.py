"""From what a person typed to one changeset: the `lookup` command's rules.

Tried in this order: `.`, `tip`, `null`; a revision number; a whole node; a bookmark; a tag; a
branch (its tip); an unambiguous prefix of a node.

What the view doesn't have is looked up as if it weren't there. (Stock says "filtered revision"
for it, and counts it when it decides whether a prefix is ambiguous; both tell a peer that a
secret changeset exists.) Source: hg 7.2.4, mercurial/scmutil.py (revsymbol).
"""

from __future__ import annotations

import re
from binascii import Error as HexError
from binascii import unhexlify
from typing import TYPE_CHECKING, Final

from trunkline.errors import PeerError
from trunkline.hg.node import NODE_LENGTH, NULL_NODE, Node

if TYPE_CHECKING:
    from trunkline.hg.store.view import View

NUMBER: Final = re.compile(rb"0|-?[1-9][0-9]{0,9}")
HEX: Final = re.compile(rb"[0-9a-fA-F]{1,40}")
HEX_LENGTH: Final = 2 * NODE_LENGTH


def lookup(view: View, symbol: bytes) -> Node:
    """Raises: PeerError in stock's words; bytes that aren't UTF-8 stand in it as surrogates."""
    for find in (special, by_number, by_node, by_name, by_prefix):
        node = find(view, symbol)
        if node is not None:
            return node
    raise PeerError(f"unknown revision '{shown(symbol)}'")


def special(view: View, symbol: bytes) -> Node | None:
    if symbol == b"null":
        return NULL_NODE
    if symbol == b"tip":
        return view.tip
    if symbol == b".":
        return working_parent(view)
    return None


def working_parent(view: View) -> Node | None:
    """Stock takes a parent that isn't in the store for null; one that is hidden isn't told."""
    node = view.snapshot.parents.p1
    if view.snapshot.changelog.rev(node) is None:
        return NULL_NODE
    return node if view.has(node) else None


def by_number(view: View, symbol: bytes) -> Node | None:
    """Negative numbers count from the end of the store."""
    if not NUMBER.fullmatch(symbol):
        return None
    number, count = int(symbol), view.snapshot.changelog.count
    rev = number + count if number < 0 else number
    if not 0 <= rev < count or rev in view.filtered:
        return None
    return view.node(rev)


def by_node(view: View, symbol: bytes) -> Node | None:
    if len(symbol) != HEX_LENGTH:
        return None
    try:
        node = Node(unhexlify(symbol))
    except (HexError, ValueError):
        return None
    return node if view.has(node) else None


def by_name(view: View, symbol: bytes) -> Node | None:
    node = view.bookmarks.get(symbol) or view.tags.get(symbol)
    if node is not None:
        return node
    rev = view.branch_map.tip(symbol)
    return None if rev is None else view.node(rev)


def by_prefix(view: View, symbol: bytes) -> Node | None:
    """An `x` in front says "this is no number". The node of all `f` stands for the working copy,
    that of all `0` for null; both count as a match.
    """
    prefix = symbol.removeprefix(b"x")
    is_working_copy = not prefix.strip(b"f") and len(prefix) <= HEX_LENGTH
    if not HEX.fullmatch(prefix):
        if not prefix:
            raise ambiguous(prefix)
        return None
    prefix = prefix.lower()
    matches = view.nodes(view.revs_with_prefix(prefix))
    if not prefix.strip(b"0"):
        matches.append(NULL_NODE)
    if len(matches) > 1 or (matches and is_working_copy):
        raise ambiguous(prefix)
    return matches[0] if matches else None


def ambiguous(prefix: bytes) -> PeerError:
    return PeerError(f"00changelog@{shown(prefix)}: ambiguous identifier")


def shown(symbol: bytes) -> str:
    return symbol.decode("utf-8", "surrogateescape")
