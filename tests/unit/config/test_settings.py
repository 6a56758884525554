from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.config.settings import Settings, parse_settings, read_settings
from trunkline.errors import SettingsError


def test_empty_file_gives_the_defaults() -> None:
    assert parse_settings(b"") == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[server]\nworkers = -1\n", "server.workers"),
        (b"[server]\nworkers = 'two'\n", "server.workers"),
        (b"[server]\nworkers = 100000\n", "server.workers"),
        (b"[server]\nsocket_mode = 0o1777\n", "server.socket_mode"),
        (b"[server]\ntrusted_proxies = ['foo']\n", "'foo'"),
        (b"[server]\ntrusted_proxies = ['10.0.0.1/8']\n", "host bits"),
        (b"[limits]\nquery_bytes = 0\n", "limits.query_bytes"),
        (b"[limits]\nquery_bytes = 65_535\n", "limits.query_bytes"),
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
    file.write_text('paths = ["repos", "/srv/hg"]\n[log]\naccess = "a.log"\n')
    assert read_settings(str(file)).paths == [str(tmp_path / "repos"), "/srv/hg"]
    assert read_settings(str(file)).log.access == str(tmp_path / "a.log")
    for word in ("", "-"):
        file.write_text(f'[log]\naccess = "{word}"\n')
        assert read_settings(str(file)).log.access == word


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml: No such file"):
        read_settings(str(tmp_path / "none.toml"))


def test_spool_is_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('[spool]\npath = "clones"\n')
    assert read_settings(str(file)).spool.path == str(tmp_path / "clones")
    file.write_text("")
    assert read_settings(str(file)).spool.path == ""


def test_files_of_subversion_are_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text('[subversion]\naccess_file = "authz"\n')
    read = read_settings(str(file)).subversion
    assert (read.access_file, read.transactions) == (str(tmp_path / "authz"), "")
