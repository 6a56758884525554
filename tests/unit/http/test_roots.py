from __future__ import annotations

import os
from pathlib import Path

import pytest

from trunkline.errors import SettingsError
from trunkline.http.roots import Place, is_inside, mount_path, mount_paths


def repository(path: Path) -> Path:
    """Enough of one to be found."""
    (path / ".hg").mkdir(parents=True)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    repository(root / "a")
    repository(root / "group" / "b")
    repository(root / "group" / "b" / "nested")
    (root / "plain").mkdir()
    return root


def test_repository_alone_is_at_the_root(tmp_path: Path) -> None:
    one = repository(tmp_path / "one")
    repository(one / "sub")
    roots = mount_paths([str(one)])
    assert roots.single_repository == str(one)
    assert roots.find(()) == Place("", str(one))
    assert roots.find(("sub",)) is None


def test_folder_has_each_at_its_relative_path(folder: Path) -> None:
    roots = mount_paths([str(folder)])
    assert roots.single_repository is None
    assert roots.find(("a",)) == Place("a", str(folder / "a"))
    assert roots.find(("group", "b")) == Place("group/b", str(folder / "group/b"))
    assert roots.find(("group", "b", "nested")) is not None
    for names in [(), ("plain",), ("none",), ("group",), ("a", "x"), ("a", ".hg", "store")]:
        assert roots.find(names) is None


def test_several_stand_under_their_base_names(folder: Path, tmp_path: Path) -> None:
    one = repository(tmp_path / "one")
    roots = mount_paths([str(folder), str(one) + "/"])
    assert roots.find(("one",)) == Place("one", str(one))
    assert roots.find(("root", "a")) == Place("root/a", str(folder / "a"))
    for names in [(), ("a",), ("root",), ("one", "a"), ("two",)]:
        assert roots.find(names) is None


def test_folder_is_where_repositories_may_stand(folder: Path, tmp_path: Path) -> None:
    one = repository(tmp_path / "one")
    (folder / "out").symlink_to(tmp_path)
    (folder / "file").touch()
    roots = mount_paths([str(folder)])
    assert [roots.is_folder(names) for names in [(), ("group",), ("plain",)]] == [True] * 3
    assert not any(roots.is_folder((name,)) for name in ("none", "out", "file"))
    several = mount_paths([str(folder), str(one)])
    assert [several.is_folder(names) for names in [(), ("root",), ("root", "group")]] == [True] * 3
    assert not several.is_folder(("one",))
    assert not several.is_folder(("two",))
    assert not mount_paths([str(one)]).is_folder(())


def test_same_base_name_twice_is_refused(folder: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "elsewhere" / "root")
    with pytest.raises(SettingsError, match="/root"):
        mount_paths([str(folder), str(other)])


def test_created_a_moment_ago_is_there_and_removed_is_not(folder: Path) -> None:
    roots = mount_paths([str(folder)])
    assert roots.find(("new",)) is None
    new = repository(folder / "new")
    assert roots.find(("new",)) is not None
    (new / ".hg").rename(new / "gone")
    assert roots.find(("new",)) is None


def test_finding_lists_no_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = mount_paths([str(folder)])

    def refuse(*_: object) -> None:
        raise AssertionError("a folder was listed")

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    assert roots.find(("group", "b")) is not None


def test_symlink_inside_is_followed_and_outside_is_not(folder: Path, tmp_path: Path) -> None:
    outside = repository(tmp_path / "outside")
    repository(tmp_path / "root-2" / "r")  # its path starts with the root's
    (folder / "inner").symlink_to("a")
    (folder / "out").symlink_to(outside)
    (folder / "up").symlink_to("..")
    (folder / "beside").symlink_to(tmp_path / "root-2")
    (folder / "half").mkdir()
    (folder / "half" / ".hg").symlink_to(outside / ".hg")
    roots = mount_paths([str(folder)])
    assert roots.find(("inner",)) == Place("inner", str(folder / "a"))
    assert roots.find(("up", "root", "a")) is not None  # comes back in
    for names in [("out",), ("up", "outside"), ("beside", "r"), ("half",)]:
        assert roots.find(names) is None


def test_symlink_turned_to_the_outside_is_seen(folder: Path, tmp_path: Path) -> None:
    outside = repository(tmp_path / "outside")
    link = folder / "link"
    link.symlink_to("a")
    roots = mount_paths([str(folder)])
    assert roots.find(("link",)) is not None
    link.unlink()
    link.symlink_to(outside)
    assert roots.find(("link",)) is None


def test_path_itself_may_be_a_symlink(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(folder)
    assert mount_paths([str(tmp_path / "alias")]).find(("a",)) is not None
    assert mount_path(str(tmp_path / "alias")).name == "alias"


@pytest.mark.parametrize("name", ["a/.hg", "none", "a-file"])
def test_path_that_cant_be_served_is_refused(folder: Path, name: str) -> None:
    (folder / "a-file").touch()
    with pytest.raises(SettingsError) as caught:
        mount_paths([str(folder / name)])
    assert name in caught.value.text


def test_is_inside_compares_whole_names() -> None:
    assert is_inside("/a/b", "/a")
    assert is_inside("/a", "/a")
    assert is_inside("/a", "/")
    assert not is_inside("/ab", "/a")
    assert not is_inside("/", "/a")
