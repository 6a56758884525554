"""What PROPFIND tells of a resource: live properties, which the server knows, and dead ones.

Source: subversion 1.14, mod_dav_svn/liveprops.c and deadprops.c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from trunkline.svn.dav.active_lock import active_lock
from trunkline.svn.dav.dates import format_http, parse_iso
from trunkline.svn.dav.names import DAV, NS_DAV
from trunkline.svn.dav.url import relative, special, versioned
from trunkline.svn.dav.xml_out import (
    element,
    escape,
    filtered,
    is_safe,
    property_name,
    property_tag,
)
from trunkline.svn.repository.locks import find_lock
from trunkline.svn.repository.nodes import Kind, Node, revision_props
from trunkline.svn.repository.session import Session

NAMESPACES = (
    b' xmlns:S="http://subversion.tigris.org/xmlns/svn/"'
    b' xmlns:C="http://subversion.tigris.org/xmlns/custom/"'
    b' xmlns:V="http://subversion.tigris.org/xmlns/dav/" xmlns:lp1="DAV:"'
    b' xmlns:lp2="http://subversion.tigris.org/xmlns/dav/"'
)
LOCKENTRY = (
    b"<lp1:lockentry><lp1:lockscope><lp1:exclusive/></lp1:lockscope>"
    b"<lp1:locktype><lp1:write/></lp1:locktype></lp1:lockentry>"
)
PREFIXES = {DAV: b"lp1", NS_DAV: b"lp2"}


@dataclass
class Subject:
    """What properties are told of. `node` is None for a revision (`rev`, `bln`) and for `vcc`."""

    base: bytes
    href: bytes
    session: Session
    revision: int
    node: Node | None
    kind: str = "public"
    autoversioning: bool = False
    locked_path: bytes | None = None  # where nothing is, but is going to be: a lock without a file

    @cached_property
    def node_kind(self) -> Kind:
        return self.node.kind() if self.node else Kind.NONE

    @cached_property
    def created_rev(self) -> int:
        return self.node.created_rev() if self.node else self.revision

    @cached_property
    def revprops(self) -> dict[bytes, bytes]:
        return revision_props(self.session, self.created_rev)

    @cached_property
    def dead(self) -> dict[bytes, bytes]:
        if self.node is not None:
            return self.node.props()
        return self.revprops if self.kind in ("rev", "bln", "wbl") else {}

    @property
    def is_file(self) -> bool:
        return self.node_kind is Kind.FILE


def resourcetype(subject: Subject) -> bytes | None:
    if subject.kind in ("rev", "bln"):
        return b"<lp1:baseline/>"
    return b"<lp1:collection/>" if subject.node_kind is Kind.DIR else b""


def getcontentlength(subject: Subject) -> bytes | None:
    return b"%d" % subject.node.length() if subject.node and subject.is_file else None


def getcontenttype(subject: Subject) -> bytes | None:
    if not subject.is_file or subject.node is None:
        return b"text/html; charset=UTF-8" if subject.node_kind is Kind.DIR else None
    return escape(subject.node.prop(b"svn:mime-type") or b"text/plain")


def getetag(subject: Subject) -> bytes | None:
    return escape(etag(subject.node)) if subject.node else None


def etag(node: Node) -> bytes:
    """Of a file the same as long as its text is."""
    mark = b'"%d/%s"' % (node.created_rev(), escape(node.path).replace(b'"', b"%22"))
    return mark if node.kind() is Kind.FILE else b"W/" + mark


def creationdate(subject: Subject) -> bytes | None:
    date = subject.revprops.get(b"svn:date")
    return escape(date) if date and is_safe(date) else None


def getlastmodified(subject: Subject) -> bytes | None:
    moment = parse_iso(subject.revprops.get(b"svn:date", b""))
    return None if moment is None or subject.node is None else format_http(moment)


def creator(subject: Subject) -> bytes | None:
    author = subject.revprops.get(b"svn:author")
    return None if author is None else filtered(author)


def version_name(subject: Subject) -> bytes | None:
    if subject.kind == "vcc":
        return None
    return b"%d" % subject.created_rev


def baseline_collection(subject: Subject) -> bytes | None:
    if subject.node is not None or subject.kind == "vcc":
        return None
    return b"<lp1:href>%s</lp1:href>" % versioned(subject.base, b"bc", subject.revision, b"/")


def checked_in(subject: Subject) -> bytes | None:
    if subject.kind == "vcc":
        href = special(subject.base, b"bln/%d" % subject.revision)
    elif subject.node is None:
        return None
    else:
        revision = subject.node.safe_rev(subject.revision)
        href = versioned(subject.base, b"ver", revision, subject.node.path)
    return b"<lp1:href>%s</lp1:href>" % escape(href)


def vcc(subject: Subject) -> bytes | None:
    if subject.node is None:
        return None
    return b"<lp1:href>%s</lp1:href>" % special(subject.base, b"vcc/default")


def auto_version(subject: Subject) -> bytes | None:
    return b"DAV:checkout-checkin" if subject.autoversioning and subject.node else None


def lockdiscovery(subject: Subject) -> bytes | None:
    if subject.locked_path is not None:
        found = find_lock(subject.session, subject.locked_path)
        return active_lock(found) if found else b""
    if subject.node is None:
        return None
    if subject.kind != "public":
        return b""
    found = find_lock(subject.session, subject.node.path) if subject.is_file else None
    return b"" if found is None else active_lock(found)


def supportedlock(subject: Subject) -> bytes | None:
    return LOCKENTRY if subject.is_file else None


def relative_path(subject: Subject) -> bytes | None:
    return escape(relative(subject.node.path)) if subject.node else None


def md5(subject: Subject) -> bytes | None:
    return subject.node.checksum() if subject.node and subject.is_file else None


def sha1(subject: Subject) -> bytes | None:
    return subject.node.checksum("sha1") if subject.node and subject.is_file else None


def uuid(subject: Subject) -> bytes | None:
    return subject.session.uuid


def deadprop_count(subject: Subject) -> bytes | None:
    return b"%d" % len(subject.dead)


Teller = Callable[[Subject], bytes | None]

LIVE: dict[tuple[str, str], Teller] = {
    (DAV, "resourcetype"): resourcetype,
    (DAV, "getcontentlength"): getcontentlength,
    (DAV, "getcontenttype"): getcontenttype,
    (DAV, "getetag"): getetag,
    (DAV, "creationdate"): creationdate,
    (DAV, "getlastmodified"): getlastmodified,
    (DAV, "creator-displayname"): creator,
    (DAV, "version-name"): version_name,
    (DAV, "baseline-collection"): baseline_collection,
    (DAV, "checked-in"): checked_in,
    (DAV, "version-controlled-configuration"): vcc,
    (DAV, "auto-version"): auto_version,
    (DAV, "lockdiscovery"): lockdiscovery,
    (DAV, "supportedlock"): supportedlock,
    (NS_DAV, "baseline-relative-path"): relative_path,
    (NS_DAV, "md5-checksum"): md5,
    (NS_DAV, "sha1-checksum"): sha1,
    (NS_DAV, "repository-uuid"): uuid,
    (NS_DAV, "deadprop-count"): deadprop_count,
}


def live(key: tuple[str, str], subject: Subject) -> bytes | None:
    value = LIVE[key](subject)
    if value is None:
        return None
    tag = PREFIXES[key[0]] + b":" + key[1].encode()
    return b"<%s>%s</%s>" % (tag, value, tag)


def dead(name: bytes, value: bytes) -> bytes:
    return element(property_tag(name), value, b"V:encoding")


def all_properties(subject: Subject) -> list[bytes]:
    found = [live(key, subject) for key in LIVE]
    told = [piece for piece in found if piece is not None]
    return [*told, *(dead(name, value) for name, value in subject.dead.items())]


def names_only(subject: Subject) -> list[bytes]:
    there = [empty(*key) for key, tell in LIVE.items() if tell(subject) is not None]
    return [*there, *(b"<%s/>" % property_tag(name) for name in subject.dead)]


def some_properties(
    subject: Subject, asked: Iterable[tuple[str, str]]
) -> tuple[list[bytes], list[bytes]]:
    """Those that are there, and empty elements for those that aren't."""
    there: list[bytes] = []
    missing: list[bytes] = []
    for ns, name in asked:
        piece = None
        if (ns, name) in LIVE:
            piece = live((ns, name), subject)
        elif (own := property_name(ns, name)) is not None and own in subject.dead:
            piece = dead(own, subject.dead[own])
        if piece is None:
            missing.append(empty(ns, name))
        else:
            there.append(piece)
    return there, missing


def empty(ns: str, name: str) -> bytes:
    own = property_name(ns, name)
    if own is not None:
        return b"<%s/>" % property_tag(own)
    if ns in PREFIXES:
        return b"<%s:%s/>" % (PREFIXES[ns], name.encode())
    if not ns:
        return b"<%s/>" % name.encode()
    return b'<x:%s xmlns:x="%s"/>' % (name.encode(), escape(ns.encode()).replace(b'"', b"&quot;"))
