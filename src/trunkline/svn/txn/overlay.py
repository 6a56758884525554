"""The tree as a transaction has it: what was asked for, over the revision that it began with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from trunkline.svn.repository.nodes import Kind, Node, node_at
from trunkline.svn.repository.session import Session


@dataclass(frozen=True, slots=True)
class Origin:
    revision: int
    path: bytes

    def below(self, name: bytes) -> Origin:
        folder = self.path if self.path.endswith(b"/") else self.path + b"/"
        return Origin(self.revision, folder + name)


@dataclass(slots=True)
class Body:
    """A text that was put. `md5` is of the whole text, in hex."""

    name: str
    is_svndiff: bool
    md5: bytes | None


@dataclass(slots=True)
class Leaf:
    """A path that something was said of. `kind` None is the origin's; `origin` None is none."""

    kind: Kind | None
    origin: Origin | None
    is_changed: bool = False
    bodies: list[Body] = field(default_factory=list)
    children: dict[bytes, Leaf] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """What a path is now. `leaf` is there if something was said of this very path."""

    kind: Kind
    origin: Origin | None
    leaf: Leaf | None


class Overlay:
    """Not thread-safe: belongs to a request."""

    def __init__(self, base: int) -> None:
        self._root = Leaf(None, Origin(base, b"/"))
        self.tokens: set[bytes] = set()

    def find(self, session: Session, path: bytes) -> Found:
        leaf: Leaf | None = self._root
        origin = self._root.origin
        for name in names(path):
            child = leaf.children.get(name) if leaf else None
            if child is not None:
                origin = child.origin
            elif origin is not None:
                origin = origin.below(name)
            leaf = child
        if leaf is not None and leaf.kind is not None:
            return Found(leaf.kind, origin, leaf)
        if origin is None:
            return Found(Kind.NONE, None, leaf)
        return Found(origin_node(session, origin).kind(), origin, leaf)

    def _leaf(self, path: bytes) -> Leaf:
        """Made where there was none, and its parents."""
        leaf = self._root
        for name in names(path):
            child = leaf.children.get(name)
            if child is None:
                origin = leaf.origin.below(name) if leaf.origin else None
                child = leaf.children[name] = Leaf(None, origin)
            leaf = child
        return leaf

    def _replace(self, path: bytes, leaf: Leaf) -> None:
        folder, _, name = path.rpartition(b"/")
        self._leaf(folder or b"/").children[name] = leaf

    def make(self, path: bytes, kind: Kind) -> None:
        self._replace(path, Leaf(kind, None, True))

    def delete(self, path: bytes) -> None:
        self._replace(path, Leaf(Kind.NONE, None, True))

    def copy(self, origin: Origin, kind: Kind, path: bytes) -> None:
        self._replace(path, Leaf(kind, origin, True))

    def touch(self, path: bytes) -> Leaf:
        leaf = self._leaf(path)
        leaf.is_changed = True
        return leaf

    def put(self, path: bytes, body: Body) -> None:
        self.touch(path).bodies.append(body)


def names(path: bytes) -> Iterator[bytes]:
    return (name for name in path.split(b"/") if name)


def origin_node(session: Session, origin: Origin) -> Node:
    return node_at(session, origin.revision, origin.path)
