from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from mercurial import requirements as stock_requirements
from mercurial import streamclone
from tests.compat.warm import WARM
from tests.unit.hg.bundle.streams import configured, stock_repository
from tests.unit.hg.store.repositories import FORMATS, commit, make, opened, writing

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.stream import (
    IGNORABLE,
    offers_stream_parts,
    requirements_parameter,
    stream_allowed,
    stream_requirements,
)

EVOLVE = "experimental.evolution=all"


@pytest.mark.parametrize("name", FORMATS)
def test_requirements_are_stocks(tmp_path: Path, name: str) -> None:
    make(tmp_path / "r", *FORMATS[name])
    expected = streamclone.streamed_requirements(stock_repository(tmp_path / "r"))

    assert stream_requirements(opened(tmp_path / "r")) == expected


def test_the_reader_may_ignore_what_stock_lets_it_ignore() -> None:
    expected = stock_requirements.STREAM_IGNORABLE_REQUIREMENTS

    assert {name.encode() for name in IGNORABLE} == set(expected)


def test_the_parameter_is_sorted_and_quoted() -> None:
    assert (
        requirements_parameter(frozenset({"store", "sparserevlog", "generaldelta", "shared"}))
        == b"generaldelta%2Csparserevlog"
    )


def with_secret(path: Path) -> Path:
    make(path)
    with writing(path) as hg:
        commit(hg, path, {"a": b"1\n"}, "one")
        commit(hg, path, {"a": b"2\n"}, "two", "--secret")
    return path


@pytest.mark.parametrize("has_secret", [True, False])
def test_streams_are_allowed_where_stock_allows_them(tmp_path: Path, has_secret: bool) -> None:
    path = with_secret(tmp_path / "r") if has_secret else make(tmp_path / "r")
    snapshot = opened(path).snapshot()

    for uncompressed, allows_secret in product(["yes", "no"], repeat=2):
        values = {
            "server_uncompressed": uncompressed,
            "server_uncompressedallowsecret": allows_secret,
        }
        expected = streamclone.allowservergeneration(stock_repository(path, **values))
        assert stream_allowed(snapshot, configured(**values)) == expected, values


def test_a_secret_changeset_forbids_streams_unless_configured(tmp_path: Path) -> None:
    snapshot = opened(with_secret(tmp_path / "r")).snapshot()

    assert not stream_allowed(snapshot, configured())
    assert stream_allowed(snapshot, configured(server_uncompressedallowsecret="yes"))


def test_an_internal_changeset_forbids_streams_too(tmp_path: Path) -> None:
    path = make(tmp_path / "r", "format.use-internal-phase=yes")
    with writing(path, "extensions.shelve=", "shelve.store=internal") as hg:
        commit(hg, path, {"a": b"1\n"}, "one")
        (path / "a").write_bytes(b"2\n")
        hg("shelve", "-q")

    assert not stream_allowed(opened(path).snapshot(), configured())


@pytest.fixture
def pruned(tmp_path: Path) -> Path:
    """A draft changeset that a marker makes obsolete, under the working copy."""
    path = make(tmp_path / "r")
    with writing(path, EVOLVE) as hg:
        commit(hg, path, {"a": b"1\n"}, "one")
        hg("debugobsolete", commit(hg, path, {"a": b"2\n"}, "two"))
    return path


def test_a_hidden_changeset_forbids_streams_unless_configured(pruned: Path) -> None:
    WARM("-R", pruned, "update", "-q", "0")
    snapshot = opened(pruned).snapshot()

    assert snapshot.view("served").filtered
    assert not stream_allowed(snapshot, configured())
    assert stream_allowed(snapshot, configured(server_uncompressedallowsecret="yes"))


def test_an_obsolete_changeset_that_peers_see_does_not_forbid_streams(pruned: Path) -> None:
    assert stream_allowed(opened(pruned).snapshot(), configured())


def test_what_the_configured_view_leaves_out_forbids_streams(tmp_path: Path) -> None:
    path = make(tmp_path / "r")
    with writing(path) as hg:
        commit(hg, path, {"a": b"1\n"}, "a draft")

    assert not stream_allowed(opened(path).snapshot(), configured(server_view="immutable"))
    assert stream_allowed(opened(path).snapshot(), configured())


@pytest.mark.parametrize("name", ["uncompressed", "bundle2.stream"])
def test_parts_are_offered_unless_switched_off(name: str) -> None:
    off = {("server", name): "no"}

    assert offers_stream_parts(HgConfig({}, {}))
    assert not offers_stream_parts(HgConfig(off, off))
