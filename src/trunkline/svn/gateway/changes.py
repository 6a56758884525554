"""Changes of properties as a `PROPPATCH` says them.

Source: subversion 1.14, libsvn_ra_serf/commit.c.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

from trunkline.errors import PeerError
from trunkline.svn.commit.record import Change
from trunkline.svn.dav.names import NS_DAV
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.dav.xml_out import property_name


def read_changes(body: Element | None) -> Iterator[Change]:
    """In their order. Raises: PeerError."""
    if body is None or body.name != "propertyupdate":
        raise PeerError("PROPPATCH: no propertyupdate")
    for step in body.children:
        for holder in step.all("prop"):
            for one in holder.children:
                name = property_name(one.ns, one.name)
                if name is None:
                    raise PeerError("PROPPATCH: a live property can't be changed")
                yield name, None if step.name == "remove" else value_of(one)


def value_of(one: Element) -> bytes | None:
    if one.attrs.get(NS_DAV + "absent") is not None:
        return None
    encoding = one.attrs.get(NS_DAV + "encoding")
    if encoding not in (None, "base64"):
        raise PeerError("PROPPATCH: an unknown encoding")
    if encoding is None:
        return one.text
    try:
        return b64decode(one.text)
    except ValueError:
        raise PeerError("PROPPATCH: not base64") from None
