"""Bytes of XML: escaped text, and values that no XML can hold in base64."""

from __future__ import annotations

import re
from base64 import b64encode

from trunkline.svn.dav.names import DAV, NS_CUSTOM, NS_SVN

NOT_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xef\xbf[\xbe\xbf]")
SPECIAL_TEXT = re.compile(rb"[&<>\r]")
SPECIAL_ATTR = re.compile(rb"[&<>\"'\r\n\t]")
ESCAPES = {
    b"&": b"&amp;",
    b"<": b"&lt;",
    b">": b"&gt;",
    b'"': b"&quot;",
    b"'": b"&apos;",
    b"\r": b"&#13;",
    b"\n": b"&#10;",
    b"\t": b"&#9;",
}


def _escape(match: re.Match[bytes]) -> bytes:
    return ESCAPES[match[0]]


def escape(text: bytes) -> bytes:
    """For the text of an element."""
    return SPECIAL_TEXT.sub(_escape, text)


def quote_attr(text: bytes) -> bytes:
    return SPECIAL_ATTR.sub(_escape, text)


def is_safe(value: bytes) -> bool:
    """Whether XML can hold it as it is."""
    if NOT_XML.search(value):
        return False
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def printable(text: bytes) -> bytes:
    """Words for people: what XML can't hold becomes ?\\nnn, as in Subversion's own output."""
    if is_safe(text):
        return escape(text)
    sound = text.decode("utf-8", "backslashreplace").encode()
    return escape(NOT_XML.sub(lambda match: b"?\\%03d" % match[0][0], sound))


def filtered(text: bytes) -> bytes:
    """Without what XML can't hold: better a wrong name than no answer."""
    if is_safe(text):
        return escape(text)
    return escape(NOT_XML.sub(b"", text.decode("utf-8", "replace").encode()))


def element(tag: bytes, value: bytes, encoding: bytes = b"encoding") -> bytes:
    """`encoding` is the name of the attribute that says base64."""
    if is_safe(value):
        return b"<%s>%s</%s>" % (tag, escape(value), tag)
    return b'<%s %s="base64">%s</%s>' % (tag, encoding, b64encode(value), tag)


def property_tag(name: bytes) -> bytes:
    """Of a versioned or revision property, with the prefixes that every answer declares."""
    if name.startswith(b"svn:"):
        return b"S:" + name[4:]
    return b"C:" + name


def property_name(ns: str, name: str) -> bytes | None:
    """The property that an element stands for; None for another namespace."""
    if ns == NS_SVN:
        return b"svn:" + name.encode()
    if ns == NS_CUSTOM:
        return name.encode()
    return None


def is_live(ns: str) -> bool:
    return ns == DAV
