from __future__ import annotations

import subprocess
from pathlib import Path

import bcrypt
import pytest
from click.testing import CliRunner, Result
from tests.compat.warm import WARM

from trunkline.cli import main


def check(*words: object) -> Result:
    result = CliRunner(env={"HGRCPATH": ""}).invoke(main, ["check", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Two repositories, a rule and a password file."""
    tmp_path.chmod(0o755)
    for name in ("repos/team/a", "repos/free"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        WARM.run("init", tmp_path / name)
    (tmp_path / "repos/free/.hg/hgrc").write_text("[web]\nallow-push = *\n")
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text(f"alice:{hashed}\n")
    (tmp_path / "htpasswd").chmod(0o640)
    (tmp_path / "s.toml").write_text(
        'paths = ["repos"]\n[auth]\npassword_file = "htpasswd"\n'
        '[[access]]\nrepositories = ["team/**"]\nread = ["*"]\nwrite = ["alice"]\n'
    )
    (tmp_path / "s.toml").chmod(0o640)
    return tmp_path


def test_says_who_may_what(site: Path) -> None:
    result = check("--settings", site / "s.toml")
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["repository", "reads", "writes", "by"]
    assert [row.split("  ")[0] for row in rows[:2]] == ["free", "team/a"]
    assert rows[0].split() == ["free", "everyone", "everyone", "[web]", "and", "defaults"]
    assert "every user  alice" in " ".join(rows[1].split(" ")).replace("   ", "  ")
    assert "unsafe: everyone may write to free, without a login" in result.stdout
    assert "note: nobody can push to" in result.stdout
    assert result.exit_code == 1


def test_subversion_repositories_are_told_of_without_web(site: Path) -> None:
    subprocess.run(["svnadmin", "create", site / "repos/team/s"], check=True)
    subprocess.run(["svnadmin", "create", site / "repos/t"], check=True)
    rows = check("--settings", site / "s.toml").stdout.splitlines()[1:5]
    assert [row.split() for row in rows if row.split()[0] in ("t", "team/s")] == [
        ["t", "everyone", "nobody", "defaults"],
        ["team/s", "every", "user", "alice", "rule", "1"],
    ]
    with (site / "s.toml").open("a") as file:
        file.write('[subversion]\naccess_file = "authz"\n')
    rows = check("--settings", site / "s.toml").stdout.splitlines()[1:5]
    assert [row.split("  ")[0] for row in rows] == ["free", "t", "team/a", "team/s"]
    assert rows[1].split() == ["t", "everyone", "every", "user", "access_file", "and", "defaults"]


def test_safe_site_exits_with_0(site: Path) -> None:
    (site / "repos/free/.hg/hgrc").unlink()
    assert check("--settings", site / "s.toml").exit_code == 0
    assert check(site / "repos").exit_code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[auth]\npassword_file = "none"\n', "none: No such file"),
        ('[tls]\ncertificate = "none"\nkey = "none"\n', "none: No such file"),
        ('[[access]]\nread = ["@nobody"]\n', "no group 'nobody'"),
        ('[server]\nlisten = "x"\n', "HOST:PORT"),
        ("[auth\n", "s.toml"),
    ],
)
def test_what_could_not_be_served(site: Path, text: str, words: str) -> None:
    (site / "s.toml").write_text('paths = ["repos"]\n' + text)
    result = check("--settings", site / "s.toml")
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("trunkline: ")
    assert words in line


def test_broken_repository_is_named(site: Path) -> None:
    (site / "repos/free/.hg/hgrc").write_text("[web\nallow-push\n")
    result = check("--settings", site / "s.toml")
    assert result.exit_code == 2
    assert "hgrc" in result.stderr
