"""Arguments of `getbundle`, as stock clients write them."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from trunkline.errors import PeerError
from trunkline.hg.bundle import request
from trunkline.hg.bundle.request import GetBundle, parse_getbundle

NODE = bytes(range(20))


def test_nothing_given_is_a_plain_clone() -> None:
    asked = parse_getbundle({})
    assert asked == GetBundle()
    assert (asked.heads, asked.cg, asked.is_bundle2, asked.capabilities) == (None, True, False, {})


def test_every_argument_is_read() -> None:
    blob = quote("HG20\nchangegroup=01,02\nobsmarkers=V0,V1").encode()
    asked = parse_getbundle(
        {
            b"heads": NODE.hex().encode() + b" " + b"0" * 40,
            b"common": b"",
            b"bundlecaps": b"HG20,bundle2=" + blob + b",other",
            b"cg": b"0",
            b"listkeys": b"bookmarks,phases",
            b"bookmarks": b"1",
            b"phases": b"true",
            b"obsmarkers": b"",
            b"stream": b"0",
            b"cbattempted": b"1",
            b"includepats": b"path:a,path:b",
            b"excludepats": b"",
            b"unheard-of": b"1",
        }
    )
    assert asked.heads == (NODE, bytes(20))
    assert asked.common == ()
    assert (asked.cg, asked.bookmarks, asked.phases, asked.cbattempted) == (False, True, True, True)
    assert (asked.obsmarkers, asked.stream) == (False, False)
    assert asked.listkeys == (b"bookmarks", b"phases")
    assert (asked.includepats, asked.excludepats) == ((b"path:a", b"path:b"), (b"",))
    assert asked.is_bundle2
    assert asked.capabilities == {
        b"HG20": (),
        b"changegroup": (b"01", b"02"),
        b"obsmarkers": (b"V0", b"V1"),
    }
    assert b"unheard-of" not in asked.named
    assert b"excludepats" in asked.named


@pytest.mark.parametrize("text", [b"x" * 40, b"00", b"0" * 40 + b"  " + b"0" * 40])
def test_what_is_no_node_is_refused(text: bytes) -> None:
    with pytest.raises(PeerError):
        parse_getbundle({b"common": text})


def test_too_many_nodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "NODES_LIMIT", 2)
    node = b"0" * 40
    assert parse_getbundle({b"heads": b" ".join([node] * 2)}).heads == (bytes(20),) * 2
    with pytest.raises(PeerError, match="more than 2"):
        parse_getbundle({b"heads": b" ".join([node] * 3)})


@pytest.mark.parametrize("name", [b"bundlecaps", b"includepats", b"excludepats"])
def test_words_past_limit_are_refused(name: bytes) -> None:
    many = b",".join(b"%d" % number for number in range(request.WORDS_LIMIT))
    assert len(getattr(parse_getbundle({name: many}), name.decode())) == request.WORDS_LIMIT
    with pytest.raises(PeerError, match="more than 1000 words"):
        parse_getbundle({name: many + b",x"})


def test_long_bundlecaps_are_refused() -> None:
    blob = b"bundle2=" + b"%0Ax" * (request.BUNDLECAPS_LIMIT // 4 - 2)
    assert parse_getbundle({b"bundlecaps": blob}).capabilities == {b"x": ()}
    with pytest.raises(PeerError, match="more than 65536 bytes"):
        parse_getbundle({b"bundlecaps": blob + b"x"})


def test_a_namespace_is_sent_once_however_often_it_is_named() -> None:
    asked = parse_getbundle({b"listkeys": b"phases,bookmarks,phases,bookmarks"})
    assert asked.listkeys == (b"phases", b"bookmarks")


def test_namespaces_past_limit_are_refused() -> None:
    many = b",".join(b"%d" % number for number in range(request.NAMESPACES_LIMIT))
    assert len(parse_getbundle({b"listkeys": many}).listkeys) == request.NAMESPACES_LIMIT
    with pytest.raises(PeerError, match="more than 64 namespaces"):
        parse_getbundle({b"listkeys": many + b",phases"})
