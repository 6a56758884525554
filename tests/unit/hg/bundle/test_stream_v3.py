from __future__ import annotations

from pathlib import Path

from tests.unit.hg.bundle.streams import configured, payload, stock_v3
from tests.unit.hg.bundle.writing import add, open_writer

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.bundle2 import Part
from trunkline.hg.bundle.stream_v3 import stream3_part
from trunkline.hg.store.repository import Repository


def part_of(path: Path, config: HgConfig) -> Part:
    return stream3_part(Repository(str(path)).snapshot().view("served"), config, False)


def test_a_stream_is_stocks_to_the_byte(any_format: Path) -> None:
    part = part_of(any_format, configured())

    assert payload(part) == stock_v3(any_format)
    assert part.type == b"stream3-exp"
    assert [name for name, _value in part.mandatory] == [b"requirements"]


def test_phases_go_along_as_stocks(tmp_path: Path) -> None:
    add(open_writer(tmp_path / "r"), {b"a": b"1\n"})

    stream = payload(part_of(tmp_path / "r", configured(phases_publish="no")))

    assert stream == stock_v3(tmp_path / "r", phases_publish="no")
    assert b"phaseroots" in stream


def test_an_empty_repository_is_stocks(tmp_path: Path) -> None:
    open_writer(tmp_path / "r")

    assert payload(part_of(tmp_path / "r", configured())) == stock_v3(tmp_path / "r") == b"\0"
