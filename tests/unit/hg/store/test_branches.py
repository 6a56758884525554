from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from tests.unit.hg.store.stock import Stock

from trunkline.hg.store import branches
from trunkline.hg.store.branches import EMPTY, branch_table, extend, read_cache

COUNT = 6


@pytest.fixture
def stock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stock:
    monkeypatch.setattr(branches, "FEW", 0)  # so that the cache is read for a small history too
    stock = Stock(tmp_path / "repo")
    for rev in range(COUNT):
        name = (b"default", "ä b".encode(), b"stable")[rev % 3]
        stock.commit(*([rev - 1] if rev else []), branch=name, is_closing=rev == 4)
    return stock


def cache(stock: Stock) -> Path:
    return stock.path / ".hg/cache"


def names(stock: Stock) -> list[tuple[bytes, bool]]:
    table = branch_table(stock.repository().snapshot())
    return [(table.branch(rev), table.is_closed(rev)) for rev in range(len(table.keys))]


def expected(stock: Stock) -> list[tuple[bytes, bool]]:
    return [stock.repo.changelog.branchinfo(rev) for rev in range(len(stock.repo))]


def test_branches_are_read_from_the_changesets_without_a_cache(stock: Stock) -> None:
    for path in cache(stock).glob("rbc-*"):
        path.unlink()
    assert names(stock) == expected(stock)


def test_branches_are_taken_from_the_cache(stock: Stock, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache(stock) / "rbc-names-v2").write_bytes(b"other\0names\0here")
    revs = b"".join(
        stock.repo.changelog.node(rev)[:4] + struct.pack(">I", rev % 3 | (rev == 4) << 31)
        for rev in range(COUNT)
    )
    (cache(stock) / "rbc-revs-v2").write_bytes(revs)
    others = (b"other", b"names", b"here")
    assert names(stock) == [(others[rev % 3], rev == 4) for rev in range(COUNT)]


@pytest.mark.parametrize(
    "record",
    [
        b"\0\0\0\0\0\0\0\0",  # not set
        b"\x12\x34\x56\x78\0\0\0\0",  # another changeset's
        b"right\0\0\x63",  # a name that isn't there
        b"torn",
        b"",
    ],
)
def test_a_record_that_doesnt_fit_is_passed_over(stock: Stock, record: bytes) -> None:
    node = stock.repo.changelog.node(COUNT - 1)
    last = record.replace(b"right", node[:4] + b"\0") if b"right" in record else record
    path = cache(stock) / "rbc-revs-v2"
    path.write_bytes(path.read_bytes()[: 8 * (COUNT - 1)].ljust(8 * (COUNT - 1), b"\0") + last)
    assert names(stock) == expected(stock)


def test_the_older_cache_is_read_where_there_is_no_newer(stock: Stock) -> None:
    folder = cache(stock)
    (folder / "rbc-names-v1").write_bytes(b"from v1")
    records = b"".join(stock.repo.changelog.node(rev)[:4] + bytes(4) for rev in range(COUNT))
    (folder / "rbc-revs-v1").write_bytes(records)
    for path in folder.glob("rbc-*-v2"):
        path.unlink()
    assert names(stock) == [(b"from v1", False)] * COUNT


def test_names_without_records_and_a_folder_are_no_cache(tmp_path: Path) -> None:
    (tmp_path / "rbc-names-v2").write_bytes(b"a")
    assert read_cache(str(tmp_path), "v2")[0] == []
    (tmp_path / "rbc-revs-v2").mkdir()
    assert read_cache(str(tmp_path), "v2")[0] == []


def test_a_table_grows_without_being_read_anew(stock: Stock) -> None:
    repository = stock.repository()
    first = branch_table(repository.snapshot())
    first.codes[0] = first.names.index(b"stable")  # a mark: is it carried over?
    stock.commit(COUNT - 1, branch=b"new one")
    second = branch_table(repository.snapshot())
    assert second.branch(0) == b"stable"
    assert second.branch(COUNT) == b"new one"
    assert len(first.keys) == COUNT


def test_a_table_of_other_changesets_isnt_believed(stock: Stock) -> None:
    changelog = stock.repository().snapshot().changelog
    good = extend(EMPTY, changelog, "/nonexistent")
    swapped = branches.BranchTable(
        good.names, good.keys[::-1].copy(), np.zeros(COUNT, dtype=np.uint32)
    )
    again = extend(swapped, changelog, "/nonexistent")
    assert [again.branch(rev) for rev in range(COUNT)] == [good.branch(rev) for rev in range(COUNT)]
