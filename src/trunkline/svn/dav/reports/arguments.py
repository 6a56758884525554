"""What reports read of their requests."""

from __future__ import annotations

from trunkline.errors import PeerError
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.url import join
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.error import SvnError


def number(root: Element, name: str, default: int | None = None) -> int:
    """Raises: PeerError for none, and for what is no number."""
    text = root.child_text(name)
    if text is None:
        if default is None:
            raise PeerError(f"{root.name}: no {name}")
        return default
    return parse_number(text, f"{root.name}: {name}")


def parse_number(text: bytes, what: str) -> int:
    digits = text.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 18:
        raise PeerError(f"{what}: not a number")
    return int(text)


def revision(root: Element, name: str) -> int:
    """-1 where it isn't said. Raises: PeerError."""
    return number(root, name, -1)


def own_path(exchange: Exchange) -> bytes:
    """Of the resource that the report was sent to: what its paths are relative to."""
    resource = exchange.resource
    if resource.kind in ("me", "vcc", "rev"):
        return b"/"
    if not resource.is_node:
        raise SvnError(codes.FS_NOT_FOUND, "Path not found")
    return resource.path


def path_in(exchange: Exchange, root: Element, name: str = "path") -> bytes:
    """`path` of a report, below its resource."""
    text = root.child_text(name, b"") or b""
    found = root.child(name)
    if found is not None:
        text = found.text
    return join(own_path(exchange), text.strip(b"/"))
