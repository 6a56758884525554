from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hg.bundle.streams import configured, files_of_v2, payload
from tests.unit.hg.bundle.writing import add, open_writer

from trunkline.errors import PeerError
from trunkline.hg.bundle.request import parse_getbundle
from trunkline.hg.bundle.stream_part import stream_part
from trunkline.hg.store.repository import Repository
from trunkline.hg.store.view import View

V2 = b"HG20,bundle2=HG20%0Astream%3Dv2"
V3 = b"HG20,bundle2=HG20%0Astream%3Dv2%2Cv3-exp"


@pytest.fixture
def view(tmp_path: Path) -> View:
    add(open_writer(tmp_path / "r"), {b"a": b"1\n"})
    return Repository(str(tmp_path / "r")).snapshot().view("served")


def chosen(view: View, caps: bytes, **config: str) -> bytes | None:
    request = parse_getbundle({b"stream": b"1", b"bundlecaps": caps})
    part = stream_part(view, request, configured(**config))
    return None if part is None else part.type


def test_there_is_no_part_unless_asked_for(view: View) -> None:
    assert stream_part(view, parse_getbundle({b"bundlecaps": V2}), configured()) is None


@pytest.mark.parametrize("caps", [V2, V3])
def test_version_2_is_given(view: View, caps: bytes) -> None:
    assert chosen(view, caps) == b"stream2"


def test_version_3_is_given_where_both_sides_want_it(view: View) -> None:
    assert chosen(view, V3, experimental_stream__v3="yes") == b"stream3-exp"
    assert chosen(view, V2, experimental_stream__v3="yes") == b"stream2"


@pytest.mark.parametrize(
    ("caps", "config", "text"),
    [
        (V2, {"server_uncompressed": "no"}, "server does not allow this feature"),
        (V2, {"server_bundle2.stream": "no"}, "server does not allow this feature"),
        (b"HG20,bundle2=HG20", {}, "versions were not specified"),
        (b"HG20,bundle2=HG20%0Astream%3Dv9", {}, "no common supported version with the client"),
    ],
)
def test_refusals_are_stocks(view: View, caps: bytes, config: dict[str, str], text: str) -> None:
    with pytest.raises(PeerError, match=text):
        chosen(view, caps, **config)


def with_marker(path: Path, of: bytes | None) -> View:
    """Two changesets and a marker of one: of the tip where none is given."""
    repo = open_writer(path, experimental_evolution="all")
    add(repo, {b"a": b"1\n"})
    tip = add(repo, {b"a": b"2\n"})
    with repo.wlock(), repo.lock(), repo.transaction(b"tests") as transaction:
        repo.obsstore.create(transaction, of or tip, (), date=(0, 0), ui=repo.ui)
    return Repository(str(path)).snapshot().view("served")


@pytest.mark.parametrize(("words", "has_markers"), [(b"", False), (b"%0Aobsmarkers%3DV1", True)])
def test_markers_go_along_to_who_takes_them(
    tmp_path: Path, words: bytes, has_markers: bool
) -> None:
    view = with_marker(tmp_path / "r", b"1" * 20)
    request = parse_getbundle({b"stream": b"1", b"bundlecaps": V2 + words})

    part = stream_part(view, request, configured())

    assert part is not None
    files = files_of_v2(payload(part))
    assert (b"s/obsstore" in files) == has_markers
    assert (b"1" * 20 in b"".join(files.values())) == has_markers


def test_hidden_changesets_go_to_nobody_without_their_markers(tmp_path: Path) -> None:
    view = with_marker(tmp_path / "r", None)

    with pytest.raises(PeerError, match="server does not allow this feature"):
        chosen(view, V2)
    with pytest.raises(PeerError, match="server has obsolescence markers, but client cannot"):
        chosen(view, V2, server_uncompressedallowsecret="yes")
