"""Which running gateways are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.svn.gateway.announced import NAME, Running, announced, find

HERE = Running("127.0.0.1", 8118, frozenset({("svn.example.com", 80), ("other", 8080)}))
OURS = [("svn.example.com", 80)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"CACHE_DIRECTORY": str(tmp_path)}


def test_one_that_runs_is_found_by_each_of_its_servers(environment: dict[str, str]) -> None:
    assert find(OURS, environment) is None
    with announced(HERE, environment):
        assert find(OURS, environment) == HERE
        assert find(sorted(HERE.servers), environment) == HERE
    assert find(OURS, environment) is None


@pytest.mark.parametrize("server", [("elsewhere", 80), ("svn.example.com", 443)])
def test_one_for_other_servers_is_not(environment: dict[str, str], server: tuple[str, int]) -> None:
    with announced(HERE, environment):
        assert find([*OURS, server], environment) is None


@pytest.mark.parametrize("said", ["", "{}", '{"host": 1, "port": 2, "servers": [[1]]}', "["])
def test_what_nobody_holds_is_removed(
    environment: dict[str, str], tmp_path: Path, said: str
) -> None:
    with announced(HERE, environment):
        (tmp_path / NAME / "1-1").write_text(said)
        assert find(OURS, environment) == HERE
    assert list((tmp_path / NAME).iterdir()) == []


def test_a_folder_that_others_may_write_to_is_not_believed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with announced(HERE, environment):
        (tmp_path / NAME).chmod(0o777)
        assert find(OURS, environment) is None
