from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.compat.warm import WARM
from tests.unit.hg.store import repositories

from trunkline.errors import NotNative, StoreError
from trunkline.hg.store.requirements import NATIVE, read_layout


@pytest.mark.parametrize("name", repositories.FORMATS)
def test_formats_we_read_are_native(name: str, tmp_path: Path) -> None:
    path = repositories.make(tmp_path / "repo", *repositories.FORMATS[name])
    assert read_layout(str(path / ".hg")).requirements <= NATIVE


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("format.usestore=no", "without store"),
        ("experimental.treemanifest=yes", "requires treemanifest"),
        ("format.exp-use-changelog-v2=enable-unstable-format-and-corrupt-my-data", "changelog-v2"),
        ("format.exp-use-copies-side-data-changeset=yes", "exp-copies-sidedata-changeset"),
    ],
)
def test_other_formats_are_left_to_mercurial(config: str, reason: str, tmp_path: Path) -> None:
    path = repositories.make(tmp_path / "repo", config)
    with pytest.raises(NotNative, match=reason):
        read_layout(str(path / ".hg"))


@pytest.mark.parametrize("word", ["lfs", "largefiles", "narrowhg-experimental", "of-the-future"])
def test_an_unknown_word_is_left_to_mercurial(word: str, tmp_path: Path) -> None:
    path = repositories.make(tmp_path / "repo")
    with (path / ".hg/store/requires").open("a") as file:
        file.write(word + "\n")
    with pytest.raises(NotNative, match=word):
        read_layout(str(path / ".hg"))


def test_no_requires_is_an_old_format(tmp_path: Path) -> None:
    (tmp_path / ".hg/store").mkdir(parents=True)
    with pytest.raises(NotNative, match="revlogv1, store"):
        read_layout(str(tmp_path / ".hg"))


def test_no_folder_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no repository"):
        read_layout(str(tmp_path / ".hg"))


@pytest.mark.parametrize("is_safe", [True, False])
@pytest.mark.parametrize("options", [(), ("-B",), ("--relative",)])
def test_a_share_has_the_store_of_its_source(
    is_safe: bool, options: tuple[str, ...], tmp_path: Path
) -> None:
    config = (f"format.use-share-safe={is_safe}", "extensions.share=")
    source = repositories.make(tmp_path / "source", *config)
    WARM.with_config(*config)("share", "-U", *options, source, tmp_path / "share")
    if "--relative" in options:  # both may move together
        (tmp_path / "moved").mkdir()
        for name in ("source", "share"):
            shutil.move(tmp_path / name, tmp_path / "moved" / name)
        tmp_path = tmp_path / "moved"
    layout = read_layout(str(tmp_path / "share/.hg"))
    assert layout.hg_path == str(tmp_path / "share/.hg")
    assert layout.source_path == os.path.realpath(tmp_path / "source/.hg")
    assert layout.store_path == layout.source_path + "/store"
    with_bookmarks = layout.source_path if "-B" in options else layout.hg_path
    assert layout.bookmarks_path == with_bookmarks + "/bookmarks"
    assert ("share-safe" in layout.requirements) == is_safe
    assert "dotencode" in layout.requirements


def test_bookmarks_in_the_store_are_shared(tmp_path: Path) -> None:
    config = ("format.bookmarks-in-store=yes", "extensions.share=")
    source = repositories.make(tmp_path / "source", *config)
    WARM.with_config(*config)("share", "-U", source, tmp_path / "share")
    layout = read_layout(str(tmp_path / "share/.hg"))
    assert layout.bookmarks_path == os.path.realpath(source) + "/.hg/store/bookmarks"


def test_a_share_whose_source_is_gone_is_an_error(tmp_path: Path) -> None:
    source = repositories.make(tmp_path / "source")
    WARM.with_config("extensions.share=")("share", "-U", source, tmp_path / "share")
    shutil.rmtree(source)
    with pytest.raises(StoreError, match="source isn't there"):
        read_layout(str(tmp_path / "share/.hg"))


@pytest.mark.parametrize("text", [b"", b"\n", b"/some\0where\n"])
def test_a_source_that_is_no_path_is_damage(text: bytes, tmp_path: Path) -> None:
    source = repositories.make(tmp_path / "source")
    WARM.with_config("extensions.share=")("share", "-U", source, tmp_path / "share")
    told = tmp_path / "share/.hg/sharedpath"
    told.write_bytes(text)
    with pytest.raises(StoreError) as caught:
        read_layout(str(told.parent))
    assert (caught.value.path, caught.value.offset) == (str(told), 0)


def test_a_share_and_source_that_differ_in_safety_are_left_to_mercurial(tmp_path: Path) -> None:
    source = repositories.make(tmp_path / "source", "format.use-share-safe=no")
    WARM.with_config("extensions.share=")("share", "-U", source, tmp_path / "share")
    with (source / ".hg/requires").open("a") as file:
        file.write("share-safe\n")
    with pytest.raises(NotNative, match="differ in share-safe"):
        read_layout(str(tmp_path / "share/.hg"))
