from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.compat.hg import ROOT

from trunkline.config.settings import (
    Index,
    Limits,
    Log,
    Server,
    Settings,
    parse_settings,
    read_settings,
    render,
)
from trunkline.errors import SettingsError


def test_docs_show_the_table_as_it_is() -> None:
    page = ROOT / "docs" / "configuration.md"
    assert page.read_text() == render(), (
        "run: python -m trunkline.config.settings > docs/configuration.md"
    )


def test_every_field_is_in_the_docs_with_a_meaning() -> None:
    page = render()
    for struct in (Settings, Server, Index, Limits, Log):
        for item in msgspec.structs.fields(struct):
            is_section = isinstance(item.type, type) and issubclass(item.type, msgspec.Struct)
            assert (f"## [{item.name}]" if is_section else f"| `{item.name}` |") in page


def test_every_limit_has_a_unit() -> None:
    rows = [line for line in render().partition("## [limits]")[2].splitlines() if "| `" in line]
    assert len(rows) >= len(msgspec.structs.fields(Limits))
    for row in rows[: len(msgspec.structs.fields(Limits))]:
        assert row.split("|")[3].strip(), row


def test_empty_file_gives_the_defaults() -> None:
    assert parse_settings(b"") == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[server]\nworkers = -1\n", "server.workers"),
        (b"[server]\nworkers = 'two'\n", "server.workers"),
        (b"[limits]\nquery_bytes = 0\n", "limits.query_bytes"),
        (b"[log]\nformat = 'xml'\n", "log.format"),
        (b"allow_write = 'everyone'\n", "allow_write"),
        (b"[server]\nwrokers = 1\n", "wrokers"),
        (b"[sever]\nworkers = 1\n", "sever"),
        (b"paths = '/srv'\n", "paths"),
        (b"paths = [\n", "Invalid"),
        (b"\xff\xfe", "codec"),
    ],
)
def test_bad_value_is_one_line_that_names_it(text: bytes, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(text)
    assert words in caught.value.text
    assert "\n" not in caught.value.text


def test_paths_of_a_file_are_relative_to_it(tmp_path: Path) -> None:
    file = tmp_path / "trunkline.toml"
    file.write_text('paths = ["repos", "/srv/hg"]\n')
    assert read_settings(str(file)).paths == [str(tmp_path / "repos"), "/srv/hg"]


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml: No such file"):
        read_settings(str(tmp_path / "none.toml"))
