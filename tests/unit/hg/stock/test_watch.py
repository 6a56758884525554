from __future__ import annotations

import os
from pathlib import Path

import pytest

from trunkline.errors import StoreError
from trunkline.hg.stock.watch import FILES_LIMIT, TEXT_LIMIT, read_text, sign, with_includes


def test_sign_changes_when_a_file_appears_changes_is_replaced_or_vanishes(tmp_path: Path) -> None:
    path = tmp_path / "hgrc"
    seen = [sign([str(path)])]
    path.write_text("a")
    seen.append(sign([str(path)]))
    path.write_text("ab")
    seen.append(sign([str(path)]))
    found = path.stat()
    other = tmp_path / "other"
    other.write_text("ba")
    os.utime(other, ns=(found.st_mtime_ns, found.st_mtime_ns))
    other.replace(path)
    seen.append(sign([str(path)]))
    path.unlink()
    assert len(set(seen)) == len(seen)
    assert sign([str(path)]) == seen[0] == (None,)


def test_includes_are_followed_there_or_not(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "sub/second", "sub/third"))
    second.parent.mkdir()
    first.write_text("[a]\nb = c\n%include sub/second\n %include not/this\n")
    second.write_text("%include third\n%include /absolute/one  \n")
    assert with_includes([str(first)]) == (str(first), str(second), str(third), "/absolute/one")


@pytest.mark.parametrize("text", ["%include hgrc\n", "%include other\n" * (FILES_LIMIT + 1)])
def test_more_files_than_anybody_has_are_refused(tmp_path: Path, text: str) -> None:
    """Mercurial would go round until its stack is full, or read on for hours."""
    (tmp_path / "hgrc").write_text(text)
    with pytest.raises(StoreError, match=f"more than {FILES_LIMIT} files"):
        with_includes([str(tmp_path / "hgrc")])


def test_more_text_than_anybody_has_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "hgrc", tmp_path / "other"
    path.write_text("%include other\n%include other\n")
    half = (TEXT_LIMIT - path.stat().st_size) // 2
    other.write_text("#" * half)
    assert with_includes([str(path)]) == (str(path), str(other))
    other.write_text("#" * (half + 1))
    with pytest.raises(StoreError, match=rf"more than {TEXT_LIMIT} bytes \[{other}\]"):
        with_includes([str(path)])


@pytest.mark.parametrize("text", [b"\xef\xbb\xbf%include other\n", b"[a]\r%include other\r[b]\r"])
def test_includes_are_seen_where_mercurial_sees_them(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "hgrc").write_bytes(text)
    assert with_includes([str(tmp_path / "hgrc")])[1:] == (str(tmp_path / "other"),)


def test_what_has_no_end_is_refused_and_what_is_empty_is_not(tmp_path: Path) -> None:
    path = tmp_path / "hgrc"
    os.mkfifo(path)
    with pytest.raises(StoreError, match="isn't a file"):
        with_includes([str(path)])
    for target in ("/dev/zero", "/dev/null", "hgrc", "folder", "nothing"):
        (tmp_path / "folder").mkdir(exist_ok=True)
        path.unlink()
        path.symlink_to(target)
        if target == "/dev/zero":
            with pytest.raises(StoreError, match="isn't a file"):
                with_includes([str(path)])
        else:
            assert with_includes([str(path)]) == (str(path),)
    assert sign(["a\0b"]) == (None,)
    assert read_text("a\0b") == b""


def test_sign_changes_when_a_file_may_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "hgrc"
    path.touch(mode=0)
    before = sign([str(path)])
    path.chmod(0o644)
    assert sign([str(path)]) != before
