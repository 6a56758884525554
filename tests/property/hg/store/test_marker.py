"""Obsolescence markers: what we write Mercurial reads, and the other way round."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mercurial import obsolete, util

from trunkline.errors import StoreError
from trunkline.hg.node import Node
from trunkline.hg.store import marker as module
from trunkline.hg.store.marker import Marker, format_markers, parse_markers
from trunkline.hg.store.obsmarkers import format_pushkey

nodes = st.binary(min_size=20, max_size=20).map(Node)
words = st.text(st.characters(exclude_characters="\0:", codec="utf-8"), max_size=30).map(str.encode)
keys = words.filter(lambda key: key not in (b"", b"date", b"p0", b"p1", b"p2"))
markers = st.builds(
    Marker,
    nodes,
    st.lists(nodes.filter(any), max_size=3).map(tuple),  # Mercurial takes no null successor
    st.sampled_from([0, 1]),
    st.dictionaries(keys, words, max_size=3).map(lambda pairs: tuple(sorted(pairs.items()))),
    st.tuples(st.integers(0, 2**33).map(float), st.integers(-720, 720).map(lambda zone: zone * 60)),
    st.none() | st.lists(nodes, max_size=2).map(tuple),
)
many = st.lists(markers, max_size=4)


def plain(found: list[Marker]) -> list[tuple[object, ...]]:
    return [tuple(marker) for marker in found]


@pytest.mark.parametrize("version", [0, 1])
@given(many)
def test_writes_what_mercurial_writes(version: int, given_markers: list[Marker]) -> None:
    theirs = b"".join(obsolete.encodemarkers(plain(given_markers), True, version))
    assert b"".join(format_markers(given_markers, version)) == theirs


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("is_native", [False, True])
@given(many)
def test_reads_what_mercurial_writes(
    version: int, is_native: bool, given_markers: list[Marker]
) -> None:
    data = b"".join(obsolete.encodemarkers(plain(given_markers), True, version))
    if version and not is_native:
        found = [Marker(*fields) for fields in module.read_v1_plainly(data)]
    else:
        found = parse_markers(data)
    if is_native and version:  # Mercurial's C code reads "none" as "not recorded"
        given_markers = [m._replace(parents=m.parents or None) for m in given_markers]
    assert found == given_markers


@pytest.mark.parametrize("version", [0, 1])
@given(st.lists(markers, min_size=1, max_size=2), st.data())
def test_markers_that_are_cut_short_are_damage(
    version: int, given_markers: list[Marker], data: st.DataObject
) -> None:
    pieces = list(format_markers(given_markers, version))
    whole = b"".join(pieces)
    ends = {sum(map(len, pieces[:count])) for count in range(1, len(pieces) + 1)}
    cut = data.draw(st.integers(1, len(whole)).filter(lambda length: length not in ends))
    with pytest.raises(StoreError):
        parse_markers(whole[:cut])
    if version:
        with pytest.raises((ValueError, struct.error)):
            list(module.read_v1_plainly(whole[:cut]))


@given(st.lists(markers, max_size=60))
def test_pushkey_values_are_mercurials(given_markers: list[Marker]) -> None:
    assert format_pushkey(given_markers) == obsolete._pushkeyescape(plain(given_markers))


def test_pushkey_values_have_a_limited_size() -> None:
    one = Marker(Node(b"p" * 20), (), 0, ((b"k", b"v" * 250),), (0.0, 0), None)
    values = format_pushkey([one] * 40)
    assert len(values) > 1
    assert max(len(util.b85decode(value)) for value in values.values()) <= 5301
    assert [*values] == [b"dump%d" % number for number in range(len(values))]


@pytest.mark.parametrize("version", [2, 255])
def test_an_unknown_version_is_damage(version: int) -> None:
    with pytest.raises(StoreError, match=f"version {version}"):
        parse_markers(bytes([version]) + b"data", "/somewhere")
