from __future__ import annotations

import pytest

from trunkline.errors import PeerError
from trunkline.svn.dav.url import (
    Resource,
    join,
    parse_resource,
    quote,
    resource_of_url,
    unquote,
    versioned,
)


@pytest.mark.parametrize(
    ("raw", "resource"),
    [
        (b"/", Resource("public")),
        (b"", Resource("public")),
        (b"//a///b/", Resource("public", b"/a/b")),
        (b"/a%20b/%C3%BC", Resource("public", "/a b/ü".encode())),
        (b"/a%2520b", Resource("public", b"/a%20b")),
        (b"/!svn/me", Resource("me")),
        (b"/!svn/rvr/7", Resource("rvr", b"/", 7)),
        (b"/!svn/rvr/7/a/b", Resource("rvr", b"/a/b", 7)),
        (b"/!svn/rev/7", Resource("rev", b"/", 7)),
        (b"/!svn/txn/1-a", Resource("txn", b"/", None, b"1-a")),
        (b"/!svn/txr/1-a/x/y", Resource("txr", b"/x/y", None, b"1-a")),
        (b"/!svn/vcc/default", Resource("vcc")),
        (b"/!svn/wbl/id/3", Resource("wbl", b"/", 3, b"id")),
        (b"/!svn/act/id", Resource("act", b"/", None, b"id")),
    ],
)
def test_names_a_resource(raw: bytes, resource: Resource) -> None:
    assert parse_resource(raw) == resource


@pytest.mark.parametrize(
    "raw",
    [
        b"/a/../b",
        b"/a/%2e%2e/b",
        b"/./a",
        b"/%ff",
        b"/a%00b",
        b"/!svn",
        b"/!svn/none",
        b"/!svn/rvr/x",
        b"/!svn/rvr/-1",
        b"/!svn/rvr/99999999999",
        b"/!svn/txr",
        b"/!svn/rvr/1/../../x",
    ],
)
def test_refuses(raw: bytes) -> None:
    with pytest.raises(PeerError):
        parse_resource(raw)


def test_quoting_leaves_what_clients_leave() -> None:
    assert quote(b"/a b/!$&'()*+,-.:=@_~") == b"/a%20b/!$&'()*+,-.:=@_~"
    assert quote('ü%#?;[]<>"'.encode()) == b"%C3%BC%25%23%3F%3B%5B%5D%3C%3E%22"
    assert unquote(quote("/ü%#?;".encode())) == "/ü%#?;".encode()


def test_urls_are_compared_by_path_only() -> None:
    found = Resource("txr", b"/d", None, b"1-a")
    for url in (b"https://elsewhere:99/r%20s/!svn/txr/1-a/d", b"/r s/!svn/txr/1-a/d"):
        assert resource_of_url(b"/r%20s", url) == found
    for url in (b"http://h/r%20sx/a", b"/other", b"http://[", b"/"):
        with pytest.raises(PeerError):
            resource_of_url(b"/r%20s", url)


def test_paths_are_joined() -> None:
    assert [join(b"/", b"a"), join(b"/a", b"b"), join(b"/a", b"")] == [b"/a", b"/a/b", b"/a"]
    assert versioned(b"/r", b"ver", 3, b"/") == b"/r/!svn/ver/3/"
