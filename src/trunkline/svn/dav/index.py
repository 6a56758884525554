"""GET of a folder: a page for people, or XML for a stylesheet and for tools.

Source: subversion 1.14, mod_dav_svn/repos.c (emit_collection_*).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape as escape_html
from itertools import islice

from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import XML_TYPE
from trunkline.svn.dav.url import join, quote
from trunkline.svn.dav.xml_out import quote_attr
from trunkline.svn.repository.nodes import Kind, Node

HTML_TYPE = b"text/html; charset=UTF-8"
AT_ONCE = 200  # entries
VERSION = b"1.14 (Trunkline)"  # of Subversion
DOCTYPE = b"""<!DOCTYPE svn [
  <!ELEMENT svn   (index)>
  <!ATTLIST svn   version CDATA #REQUIRED
                  href    CDATA #REQUIRED>
  <!ELEMENT index (updir?, (file | dir)*)>
  <!ATTLIST index name    CDATA #IMPLIED
                  path    CDATA #IMPLIED
                  rev     CDATA #IMPLIED
                  base    CDATA #IMPLIED>
  <!ELEMENT updir EMPTY>
  <!ATTLIST updir href    CDATA #REQUIRED>
  <!ELEMENT file  EMPTY>
  <!ATTLIST file  name    CDATA #REQUIRED
                  href    CDATA #REQUIRED>
  <!ELEMENT dir   EMPTY>
  <!ATTLIST dir   name    CDATA #REQUIRED
                  href    CDATA #REQUIRED>
]>
"""


@dataclass(frozen=True, slots=True)
class Index:
    """`base` is the repository's name; `query` follows each link."""

    base: bytes
    revision: int
    path: bytes
    query: bytes


class Html:
    type = HTML_TYPE

    def head(self, index: Index) -> bytes:
        title = b"Revision %d: %s" % (index.revision, html(index.path))
        return b"<html><head><title>%s</title></head>\n<body>\n <h2>%s</h2>\n <ul>\n" % (
            title,
            title,
        )

    def parent(self, index: Index) -> bytes:
        return b'  <li><a href="../%s">..</a></li>\n' % html(index.query)

    def entry(self, index: Index, name: bytes, is_dir: bool) -> bytes:
        shown = html(name) + (b"/" if is_dir else b"")
        return b'  <li><a href="%s">%s</a></li>\n' % (html(href(index, name, is_dir)), shown)

    def foot(self) -> bytes:
        return b" </ul>\n</body></html>\n"


class Xml:
    """As mod_dav_svn's with SVNIndexXSLT."""

    type = XML_TYPE

    def __init__(self, stylesheet: bytes) -> None:
        self._stylesheet = stylesheet

    def head(self, index: Index) -> bytes:
        return (
            b'<?xml version="1.0"?>\n<?xml-stylesheet type="text/xsl" href="%s"?>\n%s'
            b'<svn version="%s"\n     href="http://subversion.apache.org/">\n'
            b'  <index rev="%d" path="%s" base="%s">\n'
            % (
                quote_attr(self._stylesheet),
                DOCTYPE,
                VERSION,
                index.revision,
                quote_attr(index.path),
                quote_attr(index.base),
            )
        )

    def parent(self, index: Index) -> bytes:
        return b'    <updir href="../%s"/>\n' % quote_attr(index.query)

    def entry(self, index: Index, name: bytes, is_dir: bool) -> bytes:
        words = quote_attr(name), quote_attr(href(index, name, is_dir))
        return b'    <%s name="%s" href="%s" />\n' % (b"dir" if is_dir else b"file", *words)

    def foot(self) -> bytes:
        return b"  </index>\n</svn>\n"


def index_blocks(exchange: Exchange, node: Node, form: Html | Xml) -> Iterator[bytes]:
    """What may be read of a folder."""
    request = exchange.request
    query = b"?" + request.query if request.query else b""
    base = request.base.rpartition(b"/")[2]
    index = Index(base, node.root_revision(), node.path, query)
    yield form.head(index) + (form.parent(index) if node.path != b"/" else b"")
    entries = iter(node.entries())
    while some := list(islice(entries, AT_ONCE)):
        yield b"".join(
            form.entry(index, name, kind is Kind.DIR)
            for name, kind in some
            if exchange.session.may_read(join(node.path, name))
        )
    yield form.foot()


def href(index: Index, name: bytes, is_dir: bool) -> bytes:
    """Relative to the folder: a colon would make a scheme of what is before it."""
    start = b"./" if b":" in name else b""
    return start + quote(name) + (b"/" if is_dir else b"") + index.query


def html(text: bytes) -> bytes:
    return escape_html(text.decode("utf-8", "replace")).encode()
