from __future__ import annotations

from xml.etree import ElementTree

import pytest

from trunkline.svn.dav.xml_out import (
    element,
    escape,
    filtered,
    printable,
    property_name,
    property_tag,
    quote_attr,
)


@pytest.mark.parametrize("text", [b"", b"a<b>&\"'", b"l1\r\nl2\t", "ü€😀".encode(), b"]]>"])
def test_text_and_attributes_survive_a_parser(text: bytes) -> None:
    read = ElementTree.fromstring(b'<a b="%s">%s</a>' % (quote_attr(text), escape(text)))
    assert (read.text or "").encode() == text
    assert read.attrib["b"].encode() == text


@pytest.mark.parametrize("value", [b"\x01", b"\xff\xfe", b"\x7f", b"\xef\xbf\xbf", b"\xed\xa0\x80"])
def test_what_xml_cant_hold_travels_in_base64(value: bytes) -> None:
    assert b'encoding="base64"' in element(b"a", value)
    ElementTree.fromstring(element(b"a", value))
    for words in (printable(value), filtered(value)):
        ElementTree.fromstring(b"<a>%s</a>" % words)


def test_names_of_properties() -> None:
    assert property_tag(b"svn:eol-style") == b"S:eol-style"
    assert property_tag(b"a:b:c") == b"C:a:b:c"
    assert property_name("http://subversion.tigris.org/xmlns/svn/", "log") == b"svn:log"
    assert property_name("http://subversion.tigris.org/xmlns/custom/", "x:y") == b"x:y"
    assert property_name("DAV:", "x") is None
