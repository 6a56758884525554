from __future__ import annotations

from pathlib import Path

import pytest
from mercurial import store as stock

from trunkline.errors import StoreError
from trunkline.hg.bundle.fncache import is_revlog_name, read_fncache, sort_names, unmark_directories
from trunkline.hg.bundle.store_folder import StoreFolder

NAMES = [
    b"data/foo.i",
    b"data/foo.d",
    b"data/foo-bar.i",
    b"data/foo.i/bar.i",
    b"data/foo.d.hg/x.hg/bar.d",
    b"data/foo.d.hg/x.hg/bar.i",
    b"data/a b/\xc3\xa9.i",
    b"data/foo/z.i",
]


def written(path: Path, data: bytes) -> StoreFolder:
    (path / "fncache").write_bytes(data)
    return StoreFolder(str(path))


def test_read_fncache_gives_the_names_in_mercurials_order(tmp_path: Path) -> None:
    data = b"".join(stock.encodedir(name) + b"\n" for name in reversed(NAMES))

    names = read_fncache(written(tmp_path, data))

    grouped = stock._gather_revlog((name, None) for name in NAMES)
    assert names == [
        revlog + extension
        for revlog, extensions in grouped
        for extension in sorted(extensions, key=stock._ext_key)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_unmark_directories_undoes_mercurials_marks(name: bytes) -> None:
    assert unmark_directories(stock.encodedir(name)) == name


def test_read_fncache_is_empty_without_a_file(tmp_path: Path) -> None:
    assert read_fncache(StoreFolder(str(tmp_path))) == []


def test_read_fncache_names_the_byte_where_the_last_line_is_torn(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        read_fncache(written(tmp_path, b"data/a.i\ndata/b"))

    assert caught.value.path == str(tmp_path / "fncache")
    assert caught.value.offset == 15


def test_sort_names_drops_data_without_an_index() -> None:
    assert sort_names([b"data/a.d", b"data/b.i", b"data/b.d", b"data/c.d"]) == [
        b"data/b.d",
        b"data/b.i",
    ]


@pytest.mark.parametrize(
    "name", [b"", b"00manifest.i", b"data/a.n", b"phaseroots", b"../data/a.i", b"dh/a.i"]
)
def test_is_revlog_name_is_false_for_others(name: bytes) -> None:
    assert not is_revlog_name(name)
