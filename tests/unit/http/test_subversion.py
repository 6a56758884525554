from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trunkline.config.settings import Index, Settings
from trunkline.http.catalogue import Catalogue
from trunkline.http.roots import mount_paths
from trunkline.http.subversion import SvnDoor, SvnPlace


def create(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["svnadmin", "create", str(path)], check=True)
    return path


def door(*paths: Path) -> SvnDoor:
    words = [str(path) for path in paths]
    return SvnDoor(Settings(paths=words), mount_paths(words))


def cut(place: SvnPlace | None) -> tuple[str, bytes, bytes] | None:
    return None if place is None else (Path(place.path).name, place.base, place.rest)


def test_the_first_repository_on_the_way_takes_the_rest(tmp_path: Path) -> None:
    create(tmp_path / "team" / "my r")
    found = door(tmp_path)
    for rest in (b"", b"/", b"/!svn/me", b"/a%20b//c/", b"/.hg/x", b"/" + b"d/" * 100):
        raw = b"/team/my%20r" + rest
        assert cut(found.find(raw)) == ("my r", b"/team/my%20r", rest)
    for raw in (b"/", b"/team", b"/team/", b"/none/x", b"/team/../team/my%20r", b"/%00"):
        assert found.find(raw) is None


def test_one_repository_is_at_the_root(tmp_path: Path) -> None:
    found = door(create(tmp_path / "r"))
    assert cut(found.find(b"/trunk/a")) == ("r", b"", b"/trunk/a")
    assert cut(found.find(b"/")) == ("r", b"", b"/")


def test_several_stand_under_their_names(tmp_path: Path) -> None:
    found = door(create(tmp_path / "a"), create(tmp_path / "more" / "b").parent)
    assert cut(found.find(b"/a/x")) == ("a", b"/a", b"/x")
    assert cut(found.find(b"/more/b/x")) == ("b", b"/more/b", b"/x")


def test_nothing_outside_is_served(tmp_path: Path) -> None:
    create(tmp_path / "outside")
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "link").symlink_to(tmp_path / "outside")
    assert door(tmp_path / "served").find(b"/link/x") is None


def test_another_repository_at_the_same_place_is_another(tmp_path: Path) -> None:
    path = create(tmp_path / "r")
    found = door(tmp_path)
    before = found.find(b"/r")
    subprocess.run(["svnadmin", "setuuid", str(path)], check=True)
    after = found.find(b"/r")
    assert before is not None
    assert after is not None
    assert before.identity != after.identity


@pytest.mark.parametrize("name", ["format", "db/uuid", "db/format"])
def test_half_a_repository_is_none(tmp_path: Path, name: str) -> None:
    (create(tmp_path / "r") / name).unlink()
    assert door(tmp_path).find(b"/r") is None


def test_they_are_listed_and_not_looked_into(tmp_path: Path) -> None:
    create(tmp_path / "team" / "r")
    (tmp_path / "team" / "r" / "inner" / ".hg").mkdir(parents=True)
    catalogue = Catalogue(mount_paths([str(tmp_path)]), Index(), pytest.fail)
    assert [entry.path for entry in catalogue.listing().entries] == ["team/r"]
