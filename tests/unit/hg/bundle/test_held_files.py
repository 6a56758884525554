from __future__ import annotations

import os
from pathlib import Path

import pytest
from mercurial import cacheutil
from tests.unit.hg.bundle.streams import stock_repository
from tests.unit.hg.bundle.writing import add, open_writer

from trunkline.errors import StoreError
from trunkline.hg.bundle.held_files import (
    CACHES,
    IN_CACHE,
    IN_MEMORY,
    Held,
    cache_files,
    hold,
    nodemap_files,
    obsstore_file,
    phaseroots_file,
)
from trunkline.hg.bundle.store_folder import READ, StoreFolder
from trunkline.hg.store.repository import Repository

NODEMAP = {"format_use__persistent__nodemap": "yes"}


def held(path: Path, data: bytes, limit: int | None = None) -> Held:
    path.write_bytes(data)
    return hold(IN_CACHE, b"name", os.open(path, READ), limit)


@pytest.mark.parametrize("size", [0, 1, IN_MEMORY, IN_MEMORY + 1, 3 << 20])
def test_a_held_file_stays_what_it_was(tmp_path: Path, size: int) -> None:
    file = held(tmp_path / "x", b"x" * size)
    (tmp_path / "new").write_bytes(b"new")
    (tmp_path / "new").rename(tmp_path / "x")

    assert file.size == size
    assert b"".join(file.blocks()) == b"x" * size
    assert isinstance(file.content, bytes) == (size <= IN_MEMORY)


@pytest.mark.parametrize("size", [10, IN_MEMORY + 10])
def test_a_held_file_ends_at_its_limit(tmp_path: Path, size: int) -> None:
    file = held(tmp_path / "x", b"x" * (size - 1) + b"yz", size)

    assert b"".join(file.blocks()) == b"x" * (size - 1) + b"y"


def test_a_large_held_file_that_is_cut_tells_where(tmp_path: Path) -> None:
    file = held(tmp_path / "x", b"x" * (IN_MEMORY + 1))
    os.truncate(tmp_path / "x", 100)

    with pytest.raises(StoreError) as caught:
        list(file.blocks())

    assert (caught.value.path, caught.value.offset) == ("name", 100)


def test_the_caches_are_those_that_stock_copies(tmp_path: Path) -> None:
    open_writer(tmp_path / "r")

    assert list(CACHES) == cacheutil.cachetocopy(stock_repository(tmp_path / "r"))


def test_only_caches_that_are_there_are_held(tmp_path: Path) -> None:
    (tmp_path / "rbc-names-v2").write_bytes(b"default")
    (tmp_path / "branch2-served").write_bytes(b"x")
    (tmp_path / "other").touch()

    assert [file.name for file in cache_files(str(tmp_path))] == [
        b"branch2-served",
        b"rbc-names-v2",
    ]
    assert cache_files(str(tmp_path / "missing")) == []


@pytest.fixture
def mapped(tmp_path: Path) -> Path:
    """A repository with persistent nodemaps of two changesets."""
    repo = open_writer(tmp_path / "r", **NODEMAP)
    add(repo, {b"a": b"1\n"})
    add(repo, {b"a": b"2\n"})
    assert list((tmp_path / "r/.hg/store").glob("00changelog-*.nd"))
    return tmp_path / "r"


def nodemap_of(path: Path, revisions: int) -> list[bytes]:
    folder = StoreFolder(str(path / ".hg/store"))
    return [file.name for file in nodemap_files(folder, b"00changelog", revisions)]


def test_a_nodemap_is_its_docket_and_the_data_that_it_names(mapped: Path) -> None:
    store = mapped / ".hg/store"
    (data,) = store.glob("00changelog-*.nd")
    (store / "00changelog-12345678.nd").write_bytes(b"left over")

    docket, content = nodemap_files(StoreFolder(str(store)), b"00changelog", 2)

    assert (docket.name, docket.content) == (
        b"00changelog.n",
        (store / "00changelog.n").read_bytes(),
    )
    assert (content.name, content.content) == (data.name.encode(), data.read_bytes())


def test_a_nodemap_that_knows_more_than_the_snapshot_is_left_out(mapped: Path) -> None:
    assert nodemap_of(mapped, 2)
    assert nodemap_of(mapped, 1) == []


def test_a_nodemap_of_another_history_is_left_out(mapped: Path) -> None:
    index = mapped / ".hg/store/00changelog.i"
    data = bytearray(index.read_bytes())
    data[64 + 32] ^= 1
    index.write_bytes(data)

    assert nodemap_of(mapped, 2) == []


@pytest.mark.parametrize("name", [b"../../hgrc", b"some\0name"])
def test_a_nodemap_whose_data_has_no_name_is_left_out(mapped: Path, name: bytes) -> None:
    """What stands in the docket could name any file that ends so, or none that can be opened."""
    docket = mapped / ".hg/store/00changelog.n"
    data = docket.read_bytes()
    length, head = data[1], 34
    docket.write_bytes(data[:1] + bytes([len(name)]) + data[2:head] + name + data[head + length :])
    assert nodemap_of(mapped, 2) == []


def test_a_nodemap_without_its_data_is_left_out(mapped: Path) -> None:
    (data,) = (mapped / ".hg/store").glob("00changelog-*.nd")
    os.truncate(data, data.stat().st_size - 1)
    assert nodemap_of(mapped, 2) == []

    data.unlink()
    assert nodemap_of(mapped, 2) == []


@pytest.mark.parametrize("length", [0, 1, 10, 33, 34, 41, 42, 61])
def test_a_torn_docket_is_left_out(mapped: Path, length: int) -> None:
    os.truncate(mapped / ".hg/store/00changelog.n", length)

    assert nodemap_of(mapped, 2) == []


def test_a_docket_of_another_version_is_left_out(mapped: Path) -> None:
    docket = mapped / ".hg/store/00changelog.n"
    docket.write_bytes(b"\2" + docket.read_bytes()[1:])

    assert nodemap_of(mapped, 2) == []


def test_phaseroots_are_written_as_mercurial_writes_them(tmp_path: Path) -> None:
    repo = open_writer(tmp_path / "r")
    for number in range(3):
        add(repo, {b"a": b"%d\n" % number})
    store = tmp_path / ".hg/store"
    store = tmp_path / "r/.hg/store"

    file = phaseroots_file(StoreFolder(str(store)), Repository(str(tmp_path / "r")).snapshot())

    assert file is not None
    assert file.content == (store / "phaseroots").read_bytes() != b""


def test_there_is_nothing_to_hold_in_a_new_repository(tmp_path: Path) -> None:
    open_writer(tmp_path / "r")
    snapshot = Repository(str(tmp_path / "r")).snapshot()

    assert phaseroots_file(StoreFolder(snapshot.layout.store_path), snapshot) is None
    assert obsstore_file(snapshot) is None
