from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.hg.bundle.store_folder import StoreFolder
from trunkline.hg.bundle.store_names import NameCache, StoreNames, store_names
from trunkline.hg.store.paths import PathEncoding

FNCACHE = {"store", "fncache", "dotencode"}


def listing(path: Path, *names: str) -> StoreFolder:
    """A store with these names in its `fncache`, as another file than before."""
    fresh = path / "fncache.new"
    fresh.write_text("".join(name + "\n" for name in names))
    fresh.rename(path / "fncache")
    return StoreFolder(str(path))


def test_names_come_with_their_encoded_paths(tmp_path: Path) -> None:
    folder = listing(tmp_path, "data/B.i", "data/.a.i", "data/" + "x" * 130 + ".i")

    found = store_names(folder, FNCACHE)

    assert found.names == [b"data/.a.i", b"data/B.i", b"data/" + b"x" * 130 + b".i"]
    assert found.paths[:2] == [b"data/~2ea.i", b"data/_b.i"]
    assert found.paths[2].startswith(b"dh/xxx")


def test_names_follow_the_file_when_it_changes(tmp_path: Path) -> None:
    cache = NameCache()
    folder = listing(tmp_path, "data/A.i")
    assert cache.get(folder, PathEncoding.DOTENCODE).paths == [b"data/_a.i"]

    listing(tmp_path, "data/A.i", "data/B.i")

    assert cache.get(folder, PathEncoding.DOTENCODE) == StoreNames(
        [b"data/A.i", b"data/B.i"], [b"data/_a.i", b"data/_b.i"]
    )


def test_names_are_kept_while_the_file_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = NameCache()
    folder = listing(tmp_path, "data/A.i")
    first = cache.get(folder, PathEncoding.DOTENCODE)
    monkeypatch.setattr("trunkline.hg.bundle.store_names.read_names", None)

    assert cache.get(folder, PathEncoding.DOTENCODE) == first


def test_the_oldest_names_go_when_the_limit_is_crossed(tmp_path: Path) -> None:
    folders = []
    for name in "abc":
        (tmp_path / name).mkdir()
        folders.append(listing(tmp_path / name, f"data/{name * 20}.i"))
    cache = NameCache(limit=2 * 2 * 27)

    for folder in folders:
        cache.get(folder, PathEncoding.DOTENCODE)

    assert len(cache._kept) == 2
    assert cache._held == sum(kept.size for kept in cache._kept.values()) == 2 * 2 * 27


def test_a_list_over_the_limit_is_given_and_not_kept(tmp_path: Path) -> None:
    cache = NameCache(limit=10)
    folder = listing(tmp_path, "data/long-enough.i")

    assert cache.get(folder, PathEncoding.DOTENCODE).names == [b"data/long-enough.i"]
    assert not cache._kept
    assert cache._held == 0


def test_folders_are_walked_without_fncache(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("_b.i", "a.i", "a.d", "lost.d"):
        (tmp_path / "data" / name).touch()

    found = store_names(StoreFolder(str(tmp_path)), {"store"})

    assert found == StoreNames(
        [b"data/B.i", b"data/a.d", b"data/a.i"], [b"data/_b.i", b"data/a.d", b"data/a.i"]
    )


def test_a_store_without_fncache_file_has_no_names(tmp_path: Path) -> None:
    assert store_names(StoreFolder(str(tmp_path)), FNCACHE) == StoreNames([], [])
