from __future__ import annotations

import os
from pathlib import Path

import pytest

from trunkline.errors import StoreError
from trunkline.spool.place import default_folder, is_local, open_place


def test_folder_is_made_for_us_alone(tmp_path: Path) -> None:
    place = open_place(str(tmp_path / "a" / "b" / "spool"))
    assert os.stat(place.folder).st_mode & 0o777 == 0o700
    assert open_place(place.folder) == place


def test_what_is_no_folder_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "open", "dangling", "file/below"):
        with pytest.raises(StoreError):
            open_place(str(tmp_path / name))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_folder_of_another_account_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    os.chown(tmp_path / "theirs", 12345, -1)
    with pytest.raises(StoreError, match="belongs to others"):
        open_place(str(tmp_path / "theirs"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a symlink away")
def test_symlink_of_another_account_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "ours")
    assert open_place(str(link)).folder == str(tmp_path / "ours")
    os.chown(link, 12345, -1, follow_symlinks=False)
    with pytest.raises(StoreError, match="belongs to others"):
        open_place(str(link))


def test_default_folder() -> None:
    everything = {"CACHE_DIRECTORY": "/c:/d", "XDG_CACHE_HOME": "/x", "HOME": "/h"}
    assert default_folder(everything) == "/c/spool"
    assert default_folder(everything, "bundles") == "/c/bundles"
    assert default_folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == "/x/trunkline/spool"
    assert default_folder({"XDG_CACHE_HOME": "x", "HOME": "/h"}) == "/h/.cache/trunkline/spool"
    assert default_folder({}).endswith(f"/trunkline-spool-{os.geteuid()}")


@pytest.mark.parametrize(
    ("path", "local"), [("/", True), ("/net/a b", False), ("/net/a b/c/d", True), ("/nets", True)]
)
def test_locks_are_trusted_on_known_file_systems(tmp_path: Path, path: str, local: bool) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
        "2 1 0:9 / /net/a\\040b rw,relatime shared:1 - nfs4 host:/x rw\n"
        "3 2 0:8 / /net/a\\040b/c rw - tmpfs t rw\n"
    )
    assert is_local(path, str(mounts)) is local
    assert not is_local(path, str(tmp_path / "missing"))
