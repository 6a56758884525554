from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trunkline.access.token_file import read_tokens
from trunkline.access.tokens import PREFIX
from trunkline.cli import main


def token(*words: object) -> Result:
    return CliRunner().invoke(main, ["token", *map(str, words)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_create_prints_the_secret_alone(file: Path) -> None:
    made = token("create", "ci", "--repository", "team/**", "--write", "--tokens", file)
    assert made.exit_code == 0
    (text,) = made.stdout.splitlines()
    assert text.startswith(PREFIX)
    (line,) = made.stderr.splitlines()
    assert "ci reads and writes team/**" in line
    found = read_tokens(str(file)).find(text, datetime.now(UTC))
    assert found is not None
    assert (found.user, found.repositories, found.write) == ("ci", ("team/**",), True)
    assert found.expires is not None
    assert round((found.expires - found.created).total_seconds() / 86400) == 90


def test_list_and_revoke(file: Path) -> None:
    token("create", "ci", "--tokens", file, "--days", 0, "--note", "nightly \x1b[31m")
    token("create", "bot", "--tokens", file)
    shown = token("list", "--tokens", file)
    head, first, second = shown.stdout.splitlines()
    assert head.startswith("id ")
    assert "never" in first
    assert "nightly \\x1b[31m" in first
    name = first.split()[0]
    assert token("revoke", name, "--tokens", file).exit_code == 0
    assert token("list", "--tokens", file).stdout.splitlines()[1].split() == second.split()
    again = token("revoke", name, "--tokens", file)
    assert (again.exit_code, again.stdout) == (2, "")
    assert f"no token {name}" in again.stderr


def test_file_of_the_settings(tmp_path: Path) -> None:
    settings = tmp_path / "s.toml"
    settings.write_text('[auth]\ntoken_file = "t.json"\n')
    assert token("create", "ci", "--settings", settings).exit_code == 0
    assert len(read_tokens(str(tmp_path / "t.json")).by_id) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["create", "a:b", "--tokens", "t"], "can be no user"),
        (["create", "*", "--tokens", "t"], "can be no user"),
        (["create", "ci", "--repository", "/a", "--tokens", "t"], "'/a'"),
        (["create", "ci", "--repository", "a**", "--tokens", "t"], "must stand alone"),
        (["create", "ci", "--tokens", "none/t"], "No such file"),
        (["create", "ci"], "--settings FILE.toml or --tokens FILE"),
        (["list", "--settings", "none.toml"], "none.toml"),
        (["create", "ci", "--days", "many", "--tokens", "t"], "--days"),
        (["create"], "USER"),
        (["revoke"], "ID"),
    ],
)
def test_refuses_in_one_line(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = token(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert told in line
    assert list(tmp_path.iterdir()) == []
