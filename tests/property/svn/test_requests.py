"""Whatever a client writes: an answer, and never one that says that we were at fault."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.svn.repositories import Core, make_core

from trunkline.errors import PeerError, TrunklineError
from trunkline.svn.dav.answer import METHODS
from trunkline.svn.dav.reports.table import REPORTS
from trunkline.svn.dav.skel import parse_skel
from trunkline.svn.dav.svndiff import accepted_version
from trunkline.svn.dav.url import parse_resource, quote
from trunkline.svn.dav.xml_in import parse

NAMES = [*sorted(REPORTS), "update-report", "propfind", "propertyupdate", "merge", "lockinfo"]
WORDS = st.sampled_from(
    [
        b"/",
        b"!svn",
        b"rvr",
        b"txr",
        b"me",
        b"rev",
        b"1",
        b"0",
        b"99",
        b"trunk",
        b"a",
        b"%2e%2e",
        b"%ff",
        b"vcc",
        b"default",
        b"bc",
        b"act",
        b"x",
        b"%00",
        b"-1",
        b"wrk",
        b"ver",
        b"txn",
    ]
)
PATHS = st.lists(WORDS, max_size=6).map(lambda names: b"/" + b"/".join(names))
LEAVES = st.sampled_from(
    [
        "path",
        "revision",
        "peg-revision",
        "start-revision",
        "end-revision",
        "entry",
        "missing",
        "src-path",
        "depth",
        "limit",
        "prop",
        "allprop",
        "source",
        "href",
        "set",
        "location-revision",
    ]
)
TEXTS = st.sampled_from(["", "0", "1", "-1", "99999999999", "trunk", "../x", "/r", "infinity", "ü"])
TREES = st.recursive(
    st.tuples(LEAVES, TEXTS),
    lambda inner: st.tuples(LEAVES, st.lists(inner, max_size=4)),
    max_leaves=8,
)
HEADERS = st.dictionaries(
    st.sampled_from(["depth", "destination", "range", "if", "x_svn_options", "x_svn_version_name"]),
    st.sampled_from(
        [b"0", b"1", b"infinity", b"/r/!svn/txr/x/y", b"bytes=0-", b"(<x>)", b"<", b"\xff"]
    ),
)


def render(tree: tuple[str, object]) -> str:
    name, inner = tree
    body = inner if isinstance(inner, str) else "".join(render(one) for one in inner)  # type: ignore[attr-defined]
    return f'<S:{name} rev="1">{body}</S:{name}>'


@pytest.fixture(scope="module")
def shared_core() -> Iterator[Core]:
    with tempfile.TemporaryDirectory() as folder:
        yield from make_core(Path(folder))


@settings(max_examples=300)
@given(st.sampled_from(sorted(METHODS)), PATHS, st.binary(max_size=40), HEADERS)
def test_any_bytes_get_an_answer(
    shared_core: Core, method: str, path: bytes, body: bytes, headers: dict[str, bytes]
) -> None:
    _got, said = shared_core.ask(method, path, body, **headers)
    assert b"internal error" not in said


@settings(max_examples=400)
@given(st.sampled_from(NAMES), st.lists(TREES, max_size=5), PATHS, HEADERS)
def test_any_xml_gets_an_answer(
    shared_core: Core,
    name: str,
    trees: list[tuple[str, object]],
    path: bytes,
    headers: dict[str, bytes],
) -> None:
    body = f'<S:{name} xmlns:S="svn:">{"".join(map(render, trees))}</S:{name}>'.encode()
    for method in ("REPORT", "PROPFIND", "PROPPATCH", "MERGE", "LOCK", "DELETE"):
        try:
            _got, said = shared_core.ask(method, path, body, **headers)
        except Exception as error:  # in mid-stream, where a connection would break
            if not isinstance(error, TrunklineError):
                raise
            continue
        assert b"internal error" not in said


@given(st.binary(max_size=200))
def test_parsers_raise_nothing_but_the_peers_fault(data: bytes) -> None:
    for parser in (parse_skel, parse_resource, lambda given: parse([given], 100)):
        try:
            parser(data)
        except PeerError:
            pass
    accepted_version(data, 5)


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1)
)
def test_names_survive_a_url(name: str) -> None:
    if name in (".", "..", "!svn"):
        return
    path = b"/" + name.encode()
    assert parse_resource(quote(path)).path == path
