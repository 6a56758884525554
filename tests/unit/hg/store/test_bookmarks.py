from __future__ import annotations

import pytest
from mercurial import bookmarks as stock

from trunkline.hg.node import Node
from trunkline.hg.store.bookmarks import format_bookmarks, is_divergent, parse_bookmarks

HEX = b"ab" * 20
NODE = Node(bytes.fromhex(HEX.decode()))


def test_parse_bookmarks_keeps_order_and_odd_names() -> None:
    data = b"%b z\n%b a b\n\n%b %b\n" % (HEX, HEX, HEX, "ü".encode())
    assert list(parse_bookmarks(data).items()) == [
        (b"z", NODE),
        (b"a b", NODE),
        ("ü".encode(), NODE),
    ]


@pytest.mark.parametrize("line", [HEX, b"name", HEX[:-2] + b" name", b"x" * 40 + b" name"])
def test_a_line_that_is_none_is_passed_over(line: bytes) -> None:
    assert parse_bookmarks(line + b"\n%b good\n" % HEX) == {b"good": NODE}


@pytest.mark.parametrize("name", [b"a", b"a@b", b"a@", b"@", b"@a", b"a@b@"])
def test_is_divergent_is_mercurials(name: bytes) -> None:
    assert is_divergent(name) is bool(stock.isdivergent(name))


def test_format_bookmarks_is_mercurials() -> None:
    books = [(b"a", NODE), ("ü".encode(), NODE)]
    assert format_bookmarks(books) == stock.binaryencode(None, books)


def test_a_name_that_the_wire_cant_say_is_left_out() -> None:
    assert format_bookmarks([(b"n" * 65536, NODE)]) == b""
    assert len(format_bookmarks([(b"n" * 65535, NODE)])) == 65535 + 22
