from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.bundles.making import Made
from tests.unit.http.conftest import new

from trunkline.cli import main


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Without bundles as yet."""
    monkeypatch.setenv("CACHE_DIRECTORY", str(tmp_path))
    return Made(tmp_path)


def bundle(*words: object) -> Result:
    return CliRunner().invoke(main, ["bundle", *map(str, words)])


def test_bundles_are_made_listed_and_taken_away(made: Made, tmp_path: Path) -> None:
    settings = tmp_path / "s.toml"
    settings.write_text("[bundles]\nfree_bytes = 0\n")
    done = bundle(made.repository, "--settings", settings)
    assert done.exit_code == 0, done.output
    assert [line.split()[0] for line in done.stdout.splitlines()][:3] == ["zstd", "gzip", "stream"]
    assert f"{made.repository}: 3 bundles" in done.stdout
    names = [bundle.name for bundle in made.edition.bundles]
    listed = bundle(made.repository, "--list").stdout
    assert all(name in listed for name in names)
    again = bundle(made.repository, "--settings", settings, "--again")
    assert again.exit_code == 0
    assert bundle(made.repository, "--remove").stdout == f"{made.repository}: removed 3 bundles\n"
    assert bundle(made.repository, "--list").stdout == f"{made.repository}: 0 bundles\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--list", "--remove"], "one at a time"),
        (["--config", "x"], "x"),
        (["--settings", "/nowhere.toml"], "/nowhere.toml: No such file or directory"),
    ],
)
def test_mistakes_are_one_line(made: Made, words: list[str], text: str) -> None:
    failed = bundle(made.repository, *words)
    assert failed.exit_code == 2
    assert text in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_what_is_no_repository_is_told(made: Made, tmp_path: Path) -> None:
    failed = bundle(tmp_path / "nothing")
    assert (failed.exit_code, failed.stderr.splitlines()) == (
        2,
        [f"trunkline: {tmp_path / 'nothing'}: not a repository"],
    )


def test_repository_that_is_bridged_is_told_of_another_way(tmp_path: Path) -> None:
    bridged = new(tmp_path / "b", "[trunkline]\nnative = no\n")
    failed = bundle(bridged)
    assert failed.exit_code == 2
    assert "trunkline.native is off" in failed.stderr


def test_words_for_a_repository_with_nothing_public(tmp_path: Path) -> None:
    done = bundle(new(tmp_path / "e"))
    assert done.exit_code == 0
    assert "nothing public" in done.stdout
