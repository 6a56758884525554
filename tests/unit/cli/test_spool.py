"""`trunkline spool`, run as people run it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trunkline.cli import main
from trunkline.cli.spool import age_text, size_text
from trunkline.spool.lease import hold
from trunkline.spool.place import Place, open_place
from trunkline.spool.uses import Use


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "s.toml").write_text(f'[spool]\npath = "{tmp_path / "spool"}"\n')
    return open_place(str(tmp_path / "spool"))


def run(place: Place, *words: str) -> Result:
    settings = Path(place.folder).with_name("s.toml")
    return CliRunner().invoke(main, ["spool", "--settings", str(settings), *words])


def put(place: Place, name: str, kind: str, size: int, uses: int, ago: float) -> None:
    then = place.now() - ago
    for suffix, length in ((kind, size), ("uses", uses)):
        path = f"{place.folder}/{name}.{suffix}"
        Path(path).write_bytes(b"x" * length)
        os.utime(path, (then, then))


def test_list_tells_size_age_and_uses(place: Place) -> None:
    put(place, "a" * 40, "whole", 3_000_000, 700, 7300)
    put(place, "b" * 40, "part", 2048, 1, 0)
    for words in ([], ["list"]):
        result = run(place, *words)
        assert result.exit_code == 0, result.output
        assert result.output.splitlines() == [
            "name               size  last use    uses  state",
            "bbbbbbbbbbbb    2.0 KiB       now       1  being made",
            "aaaaaaaaaaaa    2.9 MiB       2 h     700  whole",
            f"{place.folder}: 2 files, 2.9 MiB",
        ]


def test_clear_leaves_what_is_in_use(place: Place) -> None:
    for name, kind in (("idle", "whole"), ("read", "whole"), ("made", "part"), ("left", "part")):
        put(place, name, kind, 10, 1, 3600)
    reader = Use(place, "read")
    maker = os.open(place.part("made"), os.O_RDWR)
    hold(maker)
    result = run(place, "clear")
    assert result.output.splitlines() == ["removed 2 files, 20 B", "in use: 2 files, 20 B"]
    assert {name for name in os.listdir(place.folder) if "." in name} == {
        "read.whole",
        "read.uses",
        "made.part",
        "made.uses",
    }
    reader.close()
    os.close(maker)


def test_spool_that_was_never_used_is_empty(tmp_path: Path) -> None:
    settings = tmp_path / "s.toml"
    settings.write_text(f'[spool]\npath = "{tmp_path / "none"}"\n')
    words = ["spool", "--settings", str(settings)]
    assert CliRunner().invoke(main, words).output == f"{tmp_path / 'none'}: 0 files, 0 B\n"
    assert CliRunner().invoke(main, [*words, "clear"]).output == "removed 0 files, 0 B\n"
    assert not (tmp_path / "none").exists()


def test_folder_of_others_is_refused(place: Place) -> None:
    os.chmod(place.folder, 0o777)
    result = run(place, "clear")
    assert result.exit_code == 2
    assert "others may write" in result.output


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KiB"), (150 * 1024, "150 KiB"), (3 << 30, "3.0 GiB")],
)
def test_size_has_three_digits(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "now"), (0.5, "now"), (59, "59 s"), (61, "1 min"), (7199, "1 h"), (200_000, "2 d")],
)
def test_age_has_one_unit(seconds: float, text: str) -> None:
    assert age_text(seconds) == text
