from __future__ import annotations

from pathlib import Path

from tests.unit.hg.bundle.streams import configured, names_of_v1, stock_v1
from tests.unit.hg.bundle.writing import add, open_writer

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.stream_v1 import stream_v1
from trunkline.hg.store.repository import Repository


def v1(path: Path, config: HgConfig) -> bytes:
    return b"".join(stream_v1(Repository(str(path)).snapshot(), config))


def test_a_stream_is_stocks_to_the_byte(any_format: Path) -> None:
    stream = v1(any_format, configured())

    assert stream == stock_v1(any_format)
    assert names_of_v1(stream)[-2:] == [b"00changelog.d", b"00changelog.i"]


def test_folders_that_look_like_revlogs_are_marked_in_names(tmp_path: Path) -> None:
    add(open_writer(tmp_path / "r"), {b"a.i/b": b"1\n"})

    stream = v1(tmp_path / "r", configured())

    assert stream == stock_v1(tmp_path / "r")
    assert b"data/a.i.hg/b.i" in names_of_v1(stream)


def test_private_phases_stay_out(tmp_path: Path) -> None:
    add(open_writer(tmp_path / "r"), {b"a": b"1\n"})

    assert b"phaseroots" not in names_of_v1(v1(tmp_path / "r", configured(phases_publish="no")))


def test_a_forbidden_stream_is_one_line_as_stocks(tmp_path: Path) -> None:
    open_writer(tmp_path / "r")

    stream = v1(tmp_path / "r", configured(server_uncompressed="no"))

    assert stream == stock_v1(tmp_path / "r", server_uncompressed="no") == b"1\n"


def test_an_empty_repository_is_stocks(tmp_path: Path) -> None:
    open_writer(tmp_path / "r")

    assert v1(tmp_path / "r", configured()) == stock_v1(tmp_path / "r") == b"0\n0 0\n"
