from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.warm import WARM
from tests.unit.hg.bundle.streams import (
    configured,
    files_of_v2,
    payload,
    stock_v2,
)
from tests.unit.hg.bundle.writing import add, open_writer

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.bundle2 import Part
from trunkline.hg.bundle.stream_v2 import stream2_part
from trunkline.hg.store.repository import Repository


def part_of(path: Path, config: HgConfig, include_obsmarkers: bool = False) -> Part:
    view = Repository(str(path)).snapshot().view("served")
    return stream2_part(view, config, include_obsmarkers)


@pytest.fixture
def rewritten(tmp_path: Path) -> Path:
    """Two draft changesets and a marker that hides one more."""
    repo = open_writer(tmp_path / "rewritten", experimental_evolution="all")
    add(repo, {b"a": b"1\n"})
    old = add(repo, {b"a": b"2\n"})
    new = add(repo, {b"a": b"3\n"})
    with repo.wlock(), repo.lock(), repo.transaction(b"tests") as transaction:
        repo.obsstore.create(transaction, old, (new,), date=(0, 0), ui=repo.ui)
    return tmp_path / "rewritten"


def test_a_stream_is_stocks_to_the_byte(any_format: Path) -> None:
    expected = stock_v2(any_format)

    part = part_of(any_format, configured())

    assert payload(part) == expected.payload
    assert part.type == b"stream2"
    assert part.mandatory[:2] == (
        (b"bytecount", b"%d" % expected.size),
        (b"filecount", b"%d" % expected.files),
    )
    assert part.mandatory[2][0] == b"requirements"


@pytest.mark.parametrize("publish", ["yes", "no"])
@pytest.mark.parametrize("has_obsmarkers", [False, True])
def test_phases_and_markers_go_along_as_stocks(
    rewritten: Path, publish: str, has_obsmarkers: bool
) -> None:
    expected = stock_v2(rewritten, has_obsmarkers, phases_publish=publish)

    stream = payload(part_of(rewritten, configured(phases_publish=publish), has_obsmarkers))

    assert stream == expected.payload
    files = files_of_v2(stream)
    assert (b"s/phaseroots" in files) == (publish == "no")
    assert (b"s/obsstore" in files) == has_obsmarkers


def test_caches_go_along_as_stocks(tmp_path: Path) -> None:
    add(open_writer(tmp_path / "r"), {b"a": b"1\n", b".hgtags": b"0" * 40 + b" none\n"})
    WARM("-R", tmp_path / "r", "debugupdatecaches")

    stream = payload(part_of(tmp_path / "r", configured()))

    assert stream == stock_v2(tmp_path / "r").payload
    caches = {name for name in files_of_v2(stream) if name.startswith(b"c/")}
    assert caches >= {b"c/rbc-revs-v2", b"c/rbc-names-v2", b"c/tags2-served", b"c/hgtagsfnodes1"}


def test_an_obsstore_that_is_being_appended_to_is_cut(rewritten: Path) -> None:
    expected = stock_v2(rewritten, True, phases_publish="no").payload
    repo = open_writer(rewritten, experimental_evolution="all")
    with repo.wlock(), repo.lock(), repo.transaction(b"tests") as transaction:
        repo.obsstore.create(transaction, b"1" * 20, (), date=(0, 0), ui=repo.ui)
        assert (rewritten / ".hg/store/journal").read_bytes().startswith(b"obsstore\0")

        stream = payload(part_of(rewritten, configured(phases_publish="no"), True))

    assert files_of_v2(stream)[b"s/obsstore"] == files_of_v2(expected)[b"s/obsstore"]


def test_a_share_is_its_sources_stream(tmp_path: Path) -> None:
    add(open_writer(tmp_path / "r"), {b"a": b"1\n"})
    WARM.with_config("extensions.share=")("share", "-U", tmp_path / "r", tmp_path / "share")

    stream = payload(part_of(tmp_path / "share", configured()))

    assert stream == stock_v2(tmp_path / "share").payload == stock_v2(tmp_path / "r").payload
