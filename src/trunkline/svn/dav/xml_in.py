"""Request bodies: XML by expat, with limits, and with no DTD, hence no entities.

Element names are cut at their first colon only: names of properties may have more of them, which
no parser that knows namespaces lets pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from xml.parsers import expat

from trunkline.errors import PeerError

DEPTH_LIMIT = 64  # elements
ATTRIBUTES_LIMIT = 64  # of one element


@dataclass(slots=True)
class Element:
    """`attrs` have their namespace before their name where they have one."""

    ns: str
    name: str
    attrs: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> bytes:
        return "".join(self.parts).encode("utf-8")

    def child(self, name: str, ns: str | None = None) -> Element | None:
        return next(iter(self.all(name, ns)), None)

    def all(self, name: str, ns: str | None = None) -> list[Element]:
        return [one for one in self.children if one.name == name and ns in (None, one.ns)]

    def child_text(self, name: str, default: bytes | None = None) -> bytes | None:
        found = self.child(name)
        return default if found is None else found.text.strip()

    def attr(self, name: str) -> bytes | None:
        value = self.attrs.get(name)
        return None if value is None else value.encode("utf-8")


OnChild = Callable[[Element, Element], bool]  # root, child; True: it isn't kept


class Parser:
    """Raises: PeerError 400 for what is no XML, 413 past a limit."""

    def __init__(self, limit: int, on_child: OnChild | None = None) -> None:
        self.root: Element | None = None
        self._left = self._limit = limit
        self._on_child = on_child
        self._stack: list[Element] = []
        self._scopes: list[dict[str, str]] = [{"xml": "xml"}]
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.StartDoctypeDeclHandler = self._doctype

    def set_on_child(self, on_child: OnChild) -> None:
        """Called for each child of the root, those too that have been read already."""
        self._on_child = on_child
        root = self.open_root
        if root is not None:
            root.children = [one for one in root.children if not on_child(root, one)]

    def lower_limit(self, limit: int) -> None:
        self._left -= self._limit - limit
        self._limit = limit

    def feed(self, data: bytes, is_last: bool = False) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise PeerError(f"the body is longer than {self._limit} bytes", status=413)
        try:
            self._parser.Parse(data, is_last)
        except expat.ExpatError as error:
            raise PeerError(f"the body is no XML: {error}") from None

    def _doctype(self, *_: object) -> None:
        raise PeerError("the body has a document type, which isn't allowed")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._stack) >= DEPTH_LIMIT or len(attributes) > ATTRIBUTES_LIMIT:
            raise PeerError("the body has too many elements within each other", status=413)
        scope = self._scopes[-1]
        declared = {
            name[6:]: value
            for name, value in attributes.items()
            if name == "xmlns" or name.startswith("xmlns:")
        }
        if declared:
            if not all(uri for prefix, uri in declared.items() if prefix):
                raise PeerError("the body has a namespace prefix for nothing")
            scope = {**scope, **declared}
        self._scopes.append(scope)
        prefix, colon, local = tag.partition(":")
        ns = scope.get(prefix) if colon else scope.get("", "")
        if ns is None:
            raise PeerError("the body has an unknown namespace prefix")
        element = Element(ns, local if colon else tag)
        for name, value in attributes.items():
            if not name.startswith("xmlns"):
                prefix, colon, local = name.partition(":")
                element.attrs[scope.get(prefix, "") + local if colon else name] = value
        self._stack.append(element)

    def _end(self, _tag: str) -> None:
        element = self._stack.pop()
        self._scopes.pop()
        if not self._stack:
            self.root = element
            return
        is_child = len(self._stack) == 1 and self._on_child is not None
        if not (is_child and self._on_child and self._on_child(self._stack[0], element)):
            self._stack[-1].children.append(element)

    @property
    def open_root(self) -> Element | None:
        """The root while it is still open, or the whole."""
        return self._stack[0] if self._stack else self.root

    def _data(self, data: str) -> None:
        if self._stack:
            self._stack[-1].parts.append(data)


def parse(blocks: Iterable[bytes], limit: int) -> Element | None:
    """None for an empty body. Raises: as `Parser`."""
    parser = Parser(limit)
    is_empty = True
    for block in blocks:
        if block:
            is_empty = False
            parser.feed(block)
    if is_empty:
        return None
    parser.feed(b"", is_last=True)
    return parser.root
