"""`trunkline serve`: what it refuses before it serves."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.compat.hg import ENVIRONMENT
from tests.compat.warm import WARM

from trunkline.cli import main


def refused(*words: str, hgrc: str = "") -> str:
    """The one line on stderr of a start that must fail with status 2. `hgrc`: the user's."""
    result = CliRunner(env={"HGRCPATH": hgrc}).invoke(main, ["serve", *words])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("trunkline: ")
    return line


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    WARM.run("init", tmp_path / "r")
    return tmp_path / "r"


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_address_in_use(repository: Path, taken: int) -> None:
    line = refused(str(repository), "--listen", f"127.0.0.1:{taken}")
    assert f"127.0.0.1:{taken}" in line
    assert "in use" in line


@pytest.mark.parametrize("address", ["", "8000", "host:port", "127.0.0.1:70000"])
def test_bad_address_is_told_what_a_good_one_is(repository: Path, address: str) -> None:
    line = refused(str(repository), "--listen", address)
    assert repr(address) in line
    assert "--listen (server.listen): " in line
    assert "HOST:PORT, [IPv6]:PORT or unix:PATH" in line


def test_help_names_every_form_of_an_address() -> None:
    told = CliRunner().invoke(main, ["serve", "--help"]).stdout
    assert all(form in told for form in ("HOST:PORT", "[IPv6]:PORT", "unix:PATH"))


def test_missing_path(tmp_path: Path) -> None:
    assert "none: No such file" in refused(str(tmp_path / "none"))


def test_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert "not a repository and not a folder" in refused(str(tmp_path / "f"))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("server.compressionengines=foo", "foo"),
        ("server.zstdlevel=high", "server.zstdlevel"),
        ("server.uncompressed=perhaps", "server.uncompressed"),
        ("nonsense", "nonsense"),
    ],
)
def test_bad_config(repository: Path, config: str, words: str) -> None:
    assert words in refused(str(repository), "--config", config)


@pytest.mark.parametrize(
    ("hgrc", "words"),
    [
        ("[server]\ncompressionengines = zlib, foo\n", "foo"),
        ("[server]\nzliblevel = 11\n", "server.zliblevel"),
        ("[web]\nallow-pull = perhaps\n", "web.allow-pull"),
        ("[server\n", "config error"),
        ("\n[web]\nallow-pull = perhaps\n", "hgrc:3]"),
    ],
)
def test_bad_hgrc_of_the_only_repository(repository: Path, hgrc: str, words: str) -> None:
    (repository / ".hg" / "hgrc").write_text(hgrc)
    line = refused(str(repository), "--listen", "127.0.0.1:0")
    assert words in line
    assert f"{repository}/.hg/hgrc" in line


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"])
def test_anonymous_writing_where_others_reach_it(repository: Path, address: str) -> None:
    line = refused(str(repository), "--allow-write", "anonymous", "--listen", address)
    assert "--insecure" in line


def test_bad_hgrc_of_the_user_or_system(tmp_path: Path, repository: Path) -> None:
    hgrc = tmp_path / "hgrc"
    hgrc.write_text("[server]\ncompressionengines = foo\n")
    for path in (tmp_path, repository):
        assert "foo" in refused(str(path), hgrc=str(hgrc))
    hgrc.write_text("[server\n")
    for path in (tmp_path, repository):
        assert str(hgrc) in refused(str(path), hgrc=str(hgrc))


def test_anonymous_writing_of_a_settings_file(repository: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('allow_write = "anonymous"\n[server]\nlisten = "0.0.0.0:0"\n')
    assert "--insecure" in refused(str(repository), "--settings", str(file))


def test_bad_settings(repository: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("[limits]\nquery_bytes = 'many'\n")
    line = refused(str(repository), "--settings", str(file))
    assert str(file) in line
    assert "limits.query_bytes" in line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[auth]\npassword_file = "p"\n', "p: line 1: "),
        ('[auth]\npassword_file = "none"\n', "none: No such file"),
        ('[auth]\ntoken_file = "p"\n', "p: no file of tokens"),
        ('[auth]\nuser_header = "a b"\n', "user_header"),
        ('[auth]\nrealm = "\u00e4"\n', "realm"),
        ('[[access]]\nread = ["@none"]\n', "no group 'none'"),
        ('[[access]]\nrepositories = ["a//b"]\n', "'a//b'"),
        ('[tls]\ncertificate = "p"\n', "go together"),
        ('[tls]\ncertificate = "p"\nkey = "none"\n', "none: No such file"),
        ('[tls]\ncertificate = "p"\nkey = "p"\n', "p and "),
    ],
)
def test_access_that_is_broken_at_the_start(
    repository: Path, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "p").write_text("alice:plain\n")
    file = tmp_path / "s.toml"
    file.write_text(text)
    line = refused(str(repository), "--settings", str(file), "--listen", "127.0.0.1:0")
    assert words in line
    assert "plain" not in line


def test_a_bad_entry_of_config_names_the_file(repository: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('config = ["server.zliblevel=high"]\n')
    assert f"{file}: config: server.zliblevel" in refused(str(repository), "--settings", str(file))


def test_log_that_cant_be_written(repository: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f'[log]\naccess = "{tmp_path}/none/access.log"\n')
    assert "log.access" in refused(str(repository), "--settings", str(file))


def test_a_new_log_is_not_for_everyone_to_read(
    repository: Path, tmp_path: Path, taken: int
) -> None:
    file, log = tmp_path / "s.toml", tmp_path / "access.log"
    file.write_text(f'[log]\naccess = "{log}"\n')
    assert refused(str(repository), "--settings", str(file), "--listen", f"127.0.0.1:{taken}")
    assert log.stat().st_mode & 0o007 == 0


def test_two_paths_of_one_name(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "same").mkdir(parents=True)
    assert "/same" in refused(str(tmp_path / "a" / "same"), str(tmp_path / "b" / "same"))


def test_missing_mercurial(repository: Path, tmp_path: Path) -> None:
    """A Python without `hg` beside it, and none in PATH."""
    alone = tmp_path / "bin"
    alone.mkdir()
    (alone / "python").symlink_to(sys.executable)
    program = "import sys; sys.executable = sys.argv.pop(1); from trunkline.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, str(alone / "python"), "serve", str(repository)],
        env={**ENVIRONMENT, "PATH": str(alone)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "Mercurial is missing" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--workers", "-1"], "'--workers': -1 is not in the range"),
        (["--workers", "1025"], "'--workers': 1025 is not in the range"),
        (["--workers", "x"], "'x' is not a valid integer"),
        (["--allow-write", "all"], "'all' is not one of 'authenticated', 'anonymous'"),
        (["--nonsense"], "--nonsense"),
        (["--config"], "--config"),
    ],
)
def test_bad_usage_is_one_line_too(words: list[str], told: str) -> None:
    assert told in refused(*words)
