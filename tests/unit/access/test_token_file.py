from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trunkline.access.token_file import USED_SECONDS, Uses, change_tokens, last_use, read_tokens
from trunkline.access.tokens import Tokens, make_token
from trunkline.errors import SettingsError

ADD = """
import sys
from trunkline.access.token_file import change_tokens
from trunkline.access.tokens import Tokens, make_token
for _ in range(10):
    one = make_token("alice", ("**",), False, None).token
    change_tokens(sys.argv[1], lambda old: Tokens({**old.by_id, one.id: one}))
"""


def add(old: Tokens) -> Tokens:
    one = make_token("alice", ("**",), False, None).token
    return Tokens({**old.by_id, one.id: one})


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "tokens.json")


def test_file_that_is_not_there_holds_none(file: str) -> None:
    assert read_tokens(file) == Tokens()
    change_tokens(file, add)
    assert len(read_tokens(file).by_id) == 1
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o640


def test_mode_stays_as_it_was(file: str) -> None:
    change_tokens(file, add)
    os.chmod(file, 0o600)
    change_tokens(file, add)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_two_processes_lose_nothing_of_each_other(file: str) -> None:
    def run(_: int) -> None:
        subprocess.run([sys.executable, "-c", ADD, file], check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(2)))
    assert len(read_tokens(file).by_id) == 20


def test_failed_change_leaves_file_and_folder_alone(file: str, tmp_path: Path) -> None:
    change_tokens(file, add)
    before = Path(file).read_bytes()

    def fail(_: Tokens) -> Tokens:
        raise SettingsError("no")

    with pytest.raises(SettingsError):
        change_tokens(file, fail)
    assert Path(file).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "tokens.json",
        "tokens.json.lock",
        "tokens.json.used",
    ]


def test_broken_file_is_not_written_over(file: str) -> None:
    Path(file).write_text("{")
    with pytest.raises(SettingsError, match="no file of tokens"):
        change_tokens(file, add)
    assert Path(file).read_text() == "{"


def test_link_stays_a_link(file: str, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    os.symlink("real", file)
    change_tokens(file, add)
    assert os.path.islink(file)
    assert len(read_tokens(str(tmp_path / "real")).by_id) == 1


def test_use_is_noted_and_not_too_often(file: str) -> None:
    change_tokens(file, add)
    now = 0.0
    uses = Uses(file, lambda: now)
    assert last_use(file, "abc") is None
    uses.note("abc")
    first = last_use(file, "abc")
    assert first is not None
    path = os.path.join(file + ".used", "abc")
    os.utime(path, (0, 0))
    now = USED_SECONDS - 1
    uses.note("abc")
    assert os.stat(path).st_mtime == 0
    now = USED_SECONDS
    uses.note("abc")
    assert last_use(file, "abc") != first or os.stat(path).st_mtime > 0


def test_use_that_cannot_be_noted_costs_nothing_else(tmp_path: Path) -> None:
    Uses(str(tmp_path / "none" / "tokens.json")).note("abc")
