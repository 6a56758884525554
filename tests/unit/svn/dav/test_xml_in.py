from __future__ import annotations

import pytest

from trunkline.errors import PeerError
from trunkline.svn.dav.names import DAV, NS_CUSTOM, NS_DAV
from trunkline.svn.dav.xml_in import Element, Parser, parse

GOLDEN = (
    b'<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:" '
    b'xmlns:V="http://subversion.tigris.org/xmlns/dav/" '
    b'xmlns:C="http://subversion.tigris.org/xmlns/custom/"><D:set><D:prop>'
    b'<C:a:b:c V:encoding="base64">eHl6</C:a:b:c></D:prop></D:set></D:propertyupdate>'
)


def check(root: Element | None) -> None:
    assert root is not None
    assert (root.ns, root.name) == (DAV, "propertyupdate")
    one = root.children[0].children[0].children[0]
    assert (one.ns, one.name, one.text) == (NS_CUSTOM, "a:b:c", b"eHl6")
    assert one.attrs == {NS_DAV + "encoding": "base64"}


@pytest.mark.parametrize("cut", range(0, len(GOLDEN) + 1, 7))
def test_parses_whatever_the_blocks(cut: int) -> None:
    check(parse([GOLDEN[:cut], GOLDEN[cut:]], 10_000))
    check(parse([GOLDEN[at : at + 1] for at in range(len(GOLDEN))], 10_000))


def test_nothing_is_no_element() -> None:
    assert parse([], 10) is None
    assert parse([b"", b""], 10) is None


def test_default_namespace_and_a_declaration_further_in() -> None:
    root = parse([b'<a xmlns="DAV:"><b/><c xmlns="svn:"/><x:d xmlns:x="y"/></a>'], 100)
    assert root is not None
    assert [(one.ns, one.name) for one in root.children] == [
        (DAV, "b"),
        ("svn:", "c"),
        ("y", "d"),
    ]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"<a>", 400),
        (b"<a></b>", 400),
        (b"<a/><b/>", 400),
        (b"no", 400),
        (b"<x:a/>", 400),
        (b'<x:a xmlns:x=""/>', 400),
        (b"<!DOCTYPE a><a/>", 400),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 400),
        (b"<a>&undefined;</a>", 400),
        (b"<a>" * 100, 413),
        (b"<a " + b" ".join(b'x%d=""' % n for n in range(100)) + b"/>", 413),
        (b"<a>" + b"x" * 2000 + b"</a>", 413),
        (b"<a>\xff</a>", 400),
        (b"<a>\x00</a>", 400),
    ],
)
def test_refuses(data: bytes, status: int) -> None:
    with pytest.raises(PeerError) as caught:
        parse([data], 2000)
    assert caught.value.status == status


def test_children_that_are_done_with_are_not_kept() -> None:
    parser = Parser(1000)
    seen: list[tuple[str, str, bytes]] = []

    def take(root: Element, one: Element) -> bool:
        seen.append((root.name, one.name, one.text))
        return True

    parser.feed(b"<a><b>1</b><c>2")
    parser.set_on_child(take)
    parser.feed(b"</c></a>")
    parser.feed(b"", is_last=True)
    assert seen == [("a", "b", b"1"), ("a", "c", b"2")]
    assert parser.root is not None
    assert parser.root.children == []
