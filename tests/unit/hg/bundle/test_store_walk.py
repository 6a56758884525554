from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mercurial import store as stock

from trunkline.errors import StoreError
from trunkline.hg.bundle.store_folder import StoreFolder
from trunkline.hg.bundle.store_walk import unescape_path, walk_names


@given(st.binary(max_size=60))
def test_unescape_path_undoes_mercurials_encoding(name: bytes) -> None:
    assert unescape_path(stock.encodefilename(name)) == stock.decodefilename(
        stock.encodefilename(name)
    )


@pytest.mark.parametrize("path", [b"a_", b"a~", b"a~4", b"a~zz", b"a_1", b"a_A"])
def test_unescape_path_refuses_what_no_name_is_written_as(path: bytes) -> None:
    with pytest.raises(ValueError, match="not an escape"):
        unescape_path(path)


def test_walk_names_finds_the_revlogs_of_all_folders(tmp_path: Path) -> None:
    for path in ("data/_a/x.i", "data/_a/x.d", "data/y.i.hg/z.i", "data/README", "data/fncache"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()

    assert sorted(walk_names(StoreFolder(str(tmp_path)))) == [
        b"data/A/x.d",
        b"data/A/x.i",
        b"data/y.i/z.i",
    ]


def test_walk_names_gives_none_for_an_empty_store(tmp_path: Path) -> None:
    assert list(walk_names(StoreFolder(str(tmp_path)))) == []


def test_walk_names_tells_the_file_that_has_no_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/~zz.i").touch()

    with pytest.raises(StoreError) as caught:
        list(walk_names(StoreFolder(str(tmp_path))))

    assert caught.value.path == str(tmp_path / "data/~zz.i")
