from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.hg.bundle.test_revlog_cut import CHUNKS, inline, split
from tests.unit.hg.bundle.writing import add, open_writer, strip_tip

from trunkline.errors import StoreError
from trunkline.hg.bundle.store_files import Listing
from trunkline.hg.bundle.store_folder import DATA, INDEX, INLINE, Files, StoreFolder
from trunkline.hg.bundle.stream_files import (
    BLOCK,
    READ_LIMIT,
    SMALL,
    confirm,
    gather,
    read_files,
)
from trunkline.hg.store.repository import Repository

Row = tuple[str, bytes, int]


def listed(path: Path, *rows: Row) -> Listing:
    """Files with these names, bytes and kinds, listed with their whole size."""
    files = Files()
    for name, data, kind in rows:
        (path / name).write_bytes(data)
        files.add(name.encode(), name.encode(), len(data), kind)
    return Listing(StoreFolder(str(path)), bytes, files, [])


def read(listing: Listing) -> list[bytes]:
    heads = [b"<%s>" % name for name in listing.revlogs.names]
    return list(read_files(listing, listing.revlogs, heads))


@pytest.mark.parametrize("size", [0, 1, BLOCK, SMALL, SMALL + 1, READ_LIMIT, 3 * READ_LIMIT + 5])
def test_files_come_after_their_heads(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)

    blocks = read(listed(tmp_path, ("a", b"1", DATA), ("b", data, DATA), ("c", b"", DATA)))

    assert b"".join(blocks) == b"<a>1<b>" + data + b"<c>"
    assert all(blocks)
    assert max(map(len, blocks)) <= READ_LIMIT


def test_many_small_files_come_in_large_blocks(tmp_path: Path) -> None:
    rows: list[Row] = [(f"{number:03}", b"x" * 10_000, DATA) for number in range(200)]

    blocks = read(listed(tmp_path, *rows))

    assert len(blocks) == 2_000_000 // BLOCK + 1
    assert all(BLOCK <= len(block) < BLOCK + 20_000 for block in blocks[:-1])


@pytest.mark.parametrize("size", [100, SMALL + 100])
def test_what_is_appended_later_is_not_read(tmp_path: Path, size: int) -> None:
    listing = listed(tmp_path, ("a", b"x" * size, DATA))
    with (tmp_path / "a").open("ab") as file:
        file.write(b"later")

    assert b"".join(read(listing)) == b"<a>" + b"x" * size


@pytest.mark.parametrize("size", [100, SMALL + 100])
@pytest.mark.parametrize("left", [0, 1, 99])
def test_a_file_that_became_shorter_tells_where(tmp_path: Path, size: int, left: int) -> None:
    listing = listed(tmp_path, ("a", b"x" * size, DATA))
    os.truncate(tmp_path / "a", left)

    with pytest.raises(StoreError) as caught:
        read(listing)

    assert (caught.value.path, caught.value.offset) == (str(tmp_path / "a"), left)


def test_a_file_that_is_gone_tells_its_path(tmp_path: Path) -> None:
    listing = listed(tmp_path, ("a", b"x", DATA), ("b", b"x", DATA))
    (tmp_path / "b").unlink()

    with pytest.raises(StoreError) as caught:
        read(listing)

    assert caught.value.path == str(tmp_path / "b")


LONG = [chunk * 3000 for chunk in CHUNKS]


@pytest.mark.parametrize("chunks", [CHUNKS, LONG])
def test_a_revlog_that_was_split_is_put_together_again(tmp_path: Path, chunks: list[bytes]) -> None:
    before = inline(chunks, range(4))
    listing = listed(tmp_path, ("a.i", before, INLINE))
    more = [*chunks, b"fifth"]
    (tmp_path / "a.d").write_bytes(b"".join(more))
    (tmp_path / "a.i").write_bytes(split(more, range(5)))

    assert b"".join(read(listing)) == b"<a.i>" + before


def test_a_revlog_that_was_rewritten_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    """As `hg censor` does; the pieces don't come to the size that was listed."""
    listing = listed(tmp_path, ("a.i", inline(CHUNKS, range(4)), INLINE))
    other = [b"censored", *CHUNKS[1:]]
    (tmp_path / "a.d").write_bytes(b"".join(other))
    (tmp_path / "a.i").write_bytes(split(other, range(4)))

    with pytest.raises(StoreError):
        read(listing)


def test_a_split_revlog_without_its_data_is_an_error(tmp_path: Path) -> None:
    listing = listed(tmp_path, ("a.i", inline(CHUNKS, range(4)), INLINE))
    (tmp_path / "a.i").write_bytes(split(CHUNKS, range(4)))

    with pytest.raises(StoreError) as caught:
        read(listing)

    assert caught.value.path == str(tmp_path / "a.d")


@pytest.mark.parametrize("times", [1, 3000])
def test_an_index_that_refers_to_more_data_than_listed_is_an_error(
    tmp_path: Path, times: int
) -> None:
    chunks = CHUNKS * times
    index, data = split(chunks, range(len(chunks))), b"".join(chunks)
    whole = listed(tmp_path, ("a.d", data, DATA), ("a.i", index, INDEX))
    assert b"".join(read(whole)) == b"<a.d>" + data + b"<a.i>" + index

    listing = listed(tmp_path, ("a.d", data[:-1], DATA), ("a.i", index, INDEX))

    with pytest.raises(StoreError) as caught:
        read(listing)
    assert caught.value.path == str(tmp_path / "a.i")


def test_no_file_stays_open_when_the_reader_goes(tmp_path: Path) -> None:
    listing = listed(tmp_path, ("a", b"x" * (3 * READ_LIMIT), DATA))
    blocks = read_files(listing, listing.revlogs, [b""])
    next(blocks)
    next(blocks)
    before = len(os.listdir("/dev/fd"))

    assert isinstance(blocks, Iterator)
    blocks.close()  # type: ignore[attr-defined]

    assert len(os.listdir("/dev/fd")) == before - 1


@pytest.mark.parametrize(
    "sizes", [[], [1], [BLOCK], [1] * 500, [BLOCK, 1, BLOCK - 1, 3, 2 * BLOCK]]
)
def test_gather_keeps_the_bytes_and_makes_large_blocks(sizes: list[int]) -> None:
    pieces = [os.urandom(size) for size in sizes]

    blocks = list(gather(pieces))

    assert b"".join(blocks) == b"".join(pieces)
    assert all(len(block) >= BLOCK for block in blocks[:-1])


@pytest.mark.parametrize("blocks", [[], [b"1"], [b"1", b"2"], [b"1", b"2", b"3"]])
def test_confirm_gives_the_last_block_only_while_the_snapshot_holds(
    tmp_path: Path, blocks: list[bytes]
) -> None:
    repo = open_writer(tmp_path / "r")
    add(repo, {b"a": b"1\n"})
    snapshot = Repository(str(tmp_path / "r")).snapshot()
    assert b"".join(confirm(blocks, snapshot)) == b"".join(blocks)

    strip_tip(repo)

    seen = []
    with pytest.raises(StoreError):  # noqa: PT012 - what came before it is the point
        for block in confirm(blocks, snapshot):
            seen.append(block)
    assert seen == blocks[:-1]
