"""Listings and streams while Mercurial writes. In each test what must come out is what stock
streams when nobody writes, at the state that the snapshot has."""

from __future__ import annotations

import os
import shutil
import time
from hashlib import sha512
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hg.bundle.streams import (
    configured,
    files_of_v2,
    payload,
    stock_v2,
)
from tests.unit.hg.bundle.writing import add, open_writer, strip_tip

from trunkline.errors import StoreError
from trunkline.hg.bundle import store_files, stream_files
from trunkline.hg.bundle.bundle2 import Part
from trunkline.hg.bundle.revlog_cut import join_inline
from trunkline.hg.bundle.store_folder import StoreFolder
from trunkline.hg.bundle.stream_v2 import stream2_part
from trunkline.hg.store.repository import Repository
from trunkline.hg.store.snapshot import Snapshot

PRIVATE = configured(phases_publish="no")
# Hardly packs: more than an inline revlog takes, and with it more than one block of a stream.
LARGE = b"".join(sha512(b"%d" % number).hexdigest().encode() + b"\n" for number in range(10_000))
CLOCK_TICK = 0.01  # seconds at most between two times that a file system can tell apart
FORMATS: dict[str, dict[str, str]] = {
    "default": {},
    "no-fncache": {"format_usefncache": "no"},
    "nodemap": {"format_use__persistent__nodemap": "yes"},
}


@pytest.fixture(scope="module", params=FORMATS)
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param) / "r"
    repo = open_writer(path, **FORMATS[request.param])
    add(repo, {b"small": b"1\n", b"Grown": b"0\n", b"dir.i/x": b"x\n"}, b"one")
    add(repo, {b"small": b"2\n", b"Grown": LARGE[:100_000], b"split": LARGE}, b"two")
    add(repo, {b"split": LARGE + b"more\n", b"x" * 200: b"hashed name\n"}, b"three")
    return path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "r")
    write_changelog_last(tmp_path / "r")
    return tmp_path / "r"


def write_changelog_last(path: Path) -> None:
    """So that a file's times tell whether it was written before or after."""
    time.sleep(2 * CLOCK_TICK)
    os.utime(path / ".hg/store/00changelog.i")
    time.sleep(2 * CLOCK_TICK)


def snapshot_of(path: Path) -> Snapshot:
    return Repository(str(path)).snapshot()


def part_of(snapshot: Snapshot) -> Part:
    return stream2_part(snapshot.view("served"), PRIVATE, False)


def store_of(stream: bytes) -> dict[bytes, bytes]:
    """Each revlog in its inline form, as a writer may split it at any time. Without the caches,
    which a writer may renew, and nodemaps, which may be left out.
    """
    files = {
        name: data
        for name, data in files_of_v2(stream).items()
        if name.startswith(b"s/") and not name.endswith((b".n", b".nd"))
    }
    for name in [name for name in files if name.endswith(b".d")]:
        data, index_name = files.pop(name), name[:-1] + b"i"
        index = files[index_name]
        files[index_name] = join_inline(index, data, len(index) + len(data), name.decode())
    return files


def before(path: Path) -> dict[bytes, bytes]:
    return store_of(stock_v2(path, phases_publish="no").payload)


def write_much(repo: Any) -> None:
    """New files, longer ones, and a revlog that outgrows its inline form."""
    add(
        repo,
        {
            b"small": b"3\n",
            b"Grown": LARGE + b"end\n",
            b"split": LARGE + b"even more\n",
            b"New": b"n\n",
            b"new-and-split": LARGE[::-1],
            b"y" * 200: b"another\n",
        },
        b"much",
    )


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The paths that were cut rather than believed."""
    paths: list[bytes] = []
    cut = store_files.Lister._cut

    def noted(self: store_files.Lister, path: bytes) -> object:
        paths.append(path)
        return cut(self, path)

    monkeypatch.setattr(store_files.Lister, "_cut", noted)
    return paths


def test_a_quiet_store_is_believed(path: Path, cuts: list[bytes]) -> None:
    expected = stock_v2(path, phases_publish="no")

    part = part_of(snapshot_of(path))

    assert payload(part) == expected.payload
    assert dict(part.mandatory)[b"filecount"] == b"%d" % expected.files
    assert dict(part.mandatory)[b"bytecount"] == b"%d" % expected.size
    assert cuts == [b"00changelog.i"]


def test_a_running_transaction_is_left_out(path: Path) -> None:
    expected = before(path)
    repo = open_writer(path)
    with repo.wlock(), repo.lock(), repo.transaction(b"tests"):
        write_much(repo)

        assert store_of(payload(part_of(snapshot_of(path)))) == expected


def test_a_running_transaction_is_left_out_when_the_times_dont_tell(path: Path) -> None:
    """The journal does."""
    expected = before(path)
    repo = open_writer(path)
    with repo.wlock(), repo.lock(), repo.transaction(b"tests"):
        write_much(repo)
        write_changelog_last(path)

        assert store_of(payload(part_of(snapshot_of(path)))) == expected


def test_only_what_may_have_grown_is_cut(path: Path, cuts: list[bytes]) -> None:
    repo = open_writer(path)
    with repo.wlock(), repo.lock(), repo.transaction(b"tests"):
        add(repo, {b"Grown": b"1\n"}, b"little")

        part_of(snapshot_of(path))

    assert set(cuts) - {b"data/_grown.i"} == {b"00changelog.i", b"00manifest.i"}


@pytest.mark.parametrize("category", [b"000-cm", b"002", b"g", b"zz"])
def test_a_closing_transaction_is_left_out(path: Path, category: bytes) -> None:
    """After the changelog, after the splits, after fncache and after the nodemap was written."""
    expected = before(path)
    snapshot = snapshot_of(path)
    found: list[dict[bytes, bytes]] = []

    def look(_transaction: object) -> None:
        found.append(store_of(payload(part_of(snapshot))))
        found.append(store_of(payload(part_of(snapshot_of(path)))))

    repo = open_writer(path)
    with repo.wlock(), repo.lock(), repo.transaction(b"tests") as transaction:
        write_much(repo)
        transaction.addfinalize(category, look)

    assert found == [expected, expected]


def test_a_transaction_that_ends_after_the_snapshot_is_left_out(path: Path) -> None:
    expected = before(path)
    snapshot = snapshot_of(path)
    write_much(open_writer(path))

    assert store_of(payload(part_of(snapshot))) == expected


def test_two_transactions_after_the_snapshot_are_left_out(path: Path) -> None:
    expected = before(path)
    snapshot = snapshot_of(path)
    repo = open_writer(path)
    write_much(repo)
    add(repo, {b"small": b"4\n", b"newer": b"n\n"}, b"after")

    assert store_of(payload(part_of(snapshot))) == expected


def test_a_transaction_that_ended_is_there_for_the_next_snapshot(path: Path) -> None:
    write_much(open_writer(path))

    assert store_of(payload(part_of(snapshot_of(path)))) == before(path)


def test_a_transaction_that_fails_while_files_are_listed_is_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = before(path)
    snapshot = snapshot_of(path)
    repo = open_writer(path)
    find = store_files.find

    def find_and_abort(*arguments: Any) -> store_files.Found:
        if not running:
            return find(*arguments)
        found = find(*arguments)
        running.pop().abort()
        return found

    with repo.wlock(), repo.lock():
        running = [repo.transaction(b"tests")]
        write_much(repo)
        monkeypatch.setattr(store_files, "find", find_and_abort)
        part = part_of(snapshot)

    assert not running
    assert store_of(payload(part)) == expected


def test_a_transaction_that_starts_while_files_are_listed_is_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = before(path)
    snapshot = snapshot_of(path)
    find = store_files.find
    writers = [lambda: write_much(open_writer(path))]

    def write_and_find(folder: StoreFolder, *arguments: Any) -> store_files.Found:
        if writers:
            writers.pop()()
        return find(folder, *arguments)

    monkeypatch.setattr(store_files, "find", write_and_find)

    assert store_of(payload(part_of(snapshot))) == expected


def test_an_mtime_that_mercurial_turns_back_is_not_believed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes an appended manifest's mtime one second more than it was before, when the ctime
    from before is of the same second: here that of `utime` (unless the clock just struck).
    """
    os.utime(path / ".hg/store/00manifest.i", ns=(10**18, 10**18))
    write_changelog_last(path)

    test_a_transaction_that_starts_while_files_are_listed_is_left_out(path, monkeypatch)


def test_what_is_written_after_the_listing_is_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among it a split: `Grown` was listed as one inline file and is two files when it is read."""
    joined: list[bytes] = []
    join_again = stream_files.join_again

    def noted(listing: Any, name: bytes, size: int, index: int) -> bytes:
        joined.append(name)
        return join_again(listing, name, size, index)

    monkeypatch.setattr(stream_files, "join_again", noted)
    expected = before(path)
    part = part_of(snapshot_of(path))
    write_much(open_writer(path))

    assert store_of(payload(part)) == expected
    assert joined == [b"data/Grown.i"]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_strip_breaks_the_stream(path: Path, is_late: bool) -> None:
    """The file that the stripped changeset alone has is gone, or the last check tells."""
    repo = open_writer(path)
    snapshot = snapshot_of(path)
    part = part_of(snapshot)
    blocks = iter(part.payload)
    if is_late:
        next(blocks)  # all but the last block have been read
    strip_tip(repo)

    with pytest.raises(StoreError):
        list(blocks)


def test_a_strip_before_the_listing_is_told_at_once(path: Path) -> None:
    snapshot = snapshot_of(path)
    strip_tip(open_writer(path))

    with pytest.raises(StoreError):
        part_of(snapshot)


def test_a_strip_and_another_changeset_instead_break_the_stream(path: Path) -> None:
    snapshot = snapshot_of(path)
    part = part_of(snapshot)
    repo = open_writer(path)
    strip_tip(repo)
    repo.invalidateall()
    add(repo, {b"split": LARGE + b"MORE\n", b"x" * 200: b"Hashed name\n"}, b"THREE")

    with pytest.raises(StoreError):
        payload(part)


def test_an_abandoned_transaction_is_left_out(path: Path) -> None:
    """A writer that was killed leaves its journal until `hg recover`."""
    expected = before(path)
    copy = path.with_name("killed")
    repo = open_writer(path)
    with repo.wlock(), repo.lock(), repo.transaction(b"tests"):
        write_much(repo)
        shutil.copytree(path, copy, symlinks=True)

    assert store_of(payload(part_of(snapshot_of(copy)))) == expected


def test_files_without_believable_times_are_cut_when_someone_writes(
    path: Path, cuts: list[bytes]
) -> None:
    """A fresh copy: then everything may be new."""
    expected = before(path)
    for file in (path / ".hg/store").rglob("*"):
        os.utime(file)
    repo = open_writer(path)
    with repo.wlock(), repo.lock(), repo.transaction(b"tests"):
        add(repo, {b"small": b"1\n"}, b"little")

        assert store_of(payload(part_of(snapshot_of(path)))) == expected

    assert b"data/split.i" in cuts


def test_a_name_without_a_file_is_left_out(path: Path) -> None:
    """As after `hg strip` of the only changeset that had it, by an old Mercurial."""
    expected = before(path)
    with open(path / ".hg/store/fncache", "ab") as names:
        names.write(b"data/gone.i\n")

    assert store_of(payload(part_of(snapshot_of(path)))) == expected


def test_a_missing_file_of_a_changeset_breaks_the_stream(path: Path) -> None:
    if not (path / ".hg/store/fncache").exists():
        pytest.skip("such a store keeps no list of its files")
    lost = path / ".hg/store/data/dir.i.hg/x.i"
    lost.unlink()

    with pytest.raises(StoreError, match=rf"isn't there \[{lost}\]"):
        part_of(snapshot_of(path))


def test_an_empty_repository_has_no_files(tmp_path: Path) -> None:
    open_writer(tmp_path / "r")

    part = part_of(snapshot_of(tmp_path / "r"))

    assert payload(part) == b""
    assert dict(part.mandatory)[b"filecount"] == b"0"
