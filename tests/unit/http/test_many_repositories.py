"""A folder of 5,000 repositories: a request for one looks at that one, and lists no folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.unit.http.driving import get, make_app

REPOSITORIES = 5_000
IN_A_GROUP = 50
ASKED = (0, REPOSITORIES // 2, REPOSITORIES - 1)
SCANS = ("os.scandir", "os.listdir")
REQUIRES = b"dotencode\nfncache\ngeneraldelta\nrevlogv1\nsparserevlog\nstore\n"

seen: list[str] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook can't be taken away again: it is idle while `seen` is None."""
    if seen is not None and event in SCANS:
        seen.append(str(arguments[0]))


sys.addaudithook(_hook)


@contextmanager
def scans() -> Iterator[list[str]]:
    """Folders that are listed meanwhile, by any thread of this process."""
    global seen  # noqa: PLW0603 - see `_hook`
    found: list[str] = []
    seen = found
    try:
        yield found
    finally:
        seen = None


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty ones, of what Mercurial's `init` makes the least that is read: for those that nobody
    asks for, that is the folder alone.
    """
    root = tmp_path_factory.mktemp("many")
    for number in range(REPOSITORIES):
        group = f"{root}/group-{number // IN_A_GROUP}"
        if number % IN_A_GROUP == 0:
            os.mkdir(group)
        os.mkdir(f"{group}/r-{number}")
        os.mkdir(f"{group}/r-{number}/.hg")
    for number in ASKED:
        inside = root / f"group-{number // IN_A_GROUP}/r-{number}/.hg"
        (inside / "store").mkdir()
        (inside / "requires").write_bytes(REQUIRES)
    return root


@pytest.mark.parametrize("command", ["capabilities", "heads", "branchmap"])
def test_a_request_lists_no_folder_above_its_repository(many: Path, command: str) -> None:
    app = make_app(many)
    for number in ASKED:
        with scans() as found:
            reply = get(app, f"/group-{number // IN_A_GROUP}/r-{number}?cmd={command}")
        assert reply.status == 200
        place = many / f"group-{number // IN_A_GROUP}" / f"r-{number}"
        assert outside(place, found, many) == []


def test_what_is_not_there_is_not_looked_for(many: Path) -> None:
    app = make_app(many)
    with scans() as found:
        assert get(app, "/group-1/none?cmd=heads").status == 404
    assert outside(many / "none", found, many) == []


def outside(place: Path, found: list[str], root: Path) -> list[str]:
    """Folders of ours that are not in `place`; Python lists its own when it imports."""
    paths = [Path(path) for path in found if Path(path).is_relative_to(root)]
    return [str(path) for path in paths if not path.is_relative_to(place)]


def test_the_list_of_repositories_is_what_looks(many: Path) -> None:
    """For people only, and once: it shows that a scan is seen here."""
    app = make_app(many)
    with scans() as found:
        reply = get(app, "/group-7/")
    assert reply.status == 200
    assert f"r-{7 * IN_A_GROUP}" in reply.text
    assert len(found) >= IN_A_GROUP
    with scans() as again:
        assert get(app, "/group-7/").status == 200
    assert len(outside(many / "none", again, many)) < IN_A_GROUP
