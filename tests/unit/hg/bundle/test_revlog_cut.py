from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from io import FileIO
from pathlib import Path

import pytest

from trunkline.errors import StoreError
from trunkline.hg.bundle.revlog_cut import NOTHING, Cut, cut_revlog, data_end, join_inline

INLINE = 0x30001
SPLIT = 0x20001
CHUNKS = [b"one" * 9, b"", b"three" * 40, b"four"]


def entry(number: int, offset: int, chunk: bytes, linkrev: int, header: int) -> bytes:
    place = offset << 16 if number else header << 32
    return struct.pack(
        ">Qiiiiii20s12x", place, len(chunk), 99, 0, linkrev, -1, -1, bytes([number % 256]) * 20
    )


def entries(chunks: Sequence[bytes], linkrevs: Sequence[int], header: int) -> list[bytes]:
    offset, made = 0, []
    for number, (chunk, linkrev) in enumerate(zip(chunks, linkrevs, strict=True)):
        made.append(entry(number, offset, chunk, linkrev, header))
        offset += len(chunk)
    return made


def inline(chunks: Sequence[bytes], linkrevs: Sequence[int]) -> bytes:
    index = entries(chunks, linkrevs, INLINE)
    return b"".join(part for pair in zip(index, chunks, strict=True) for part in pair)


def split(chunks: Sequence[bytes], linkrevs: Sequence[int]) -> bytes:
    return b"".join(entries(chunks, linkrevs, SPLIT))


def cut(path: Path, data: bytes, changesets: int) -> Cut:
    (path / "x.i").write_bytes(data)
    with FileIO(str(path / "x.i")) as file:
        return cut_revlog(file.fileno(), changesets, "x.i")


@pytest.mark.parametrize("changesets", range(6))
def test_cut_keeps_what_the_changesets_have(tmp_path: Path, changesets: int) -> None:
    kept = min(changesets, 4)
    whole = inline(CHUNKS, range(4))
    length = len(inline(CHUNKS[:kept], range(kept)))

    assert cut(tmp_path, whole, changesets)[:2] == (kept, length)
    found = cut(tmp_path, split(CHUNKS, range(4)), changesets)
    assert found == (Cut(kept, 64 * kept, sum(map(len, CHUNKS[:kept]))) if kept else NOTHING)


@pytest.mark.parametrize("form", [inline, split])
def test_cut_drops_only_the_end_as_link_revisions_may_go_back(tmp_path: Path, form: object) -> None:
    assert callable(form)
    data = form(CHUNKS, [0, 7, 2, 5])

    assert cut(tmp_path, data, 3).revisions == 3


@pytest.mark.parametrize("form", [inline, split])
def test_cut_leaves_a_torn_last_entry_out(tmp_path: Path, form: object) -> None:
    assert callable(form)
    shorter = len(form(CHUNKS[:3], range(3)))
    whole = form(CHUNKS, range(4))

    for length in range(shorter, len(whole)):
        found = cut(tmp_path, whole[:length], 9)
        assert (found.revisions, found.index_size) == (3, shorter), length


def test_cut_finds_the_end_many_entries_back(tmp_path: Path) -> None:
    chunks = [b"%d" % number for number in range(1500)]

    found = cut(tmp_path, split(chunks, range(1500)), 200)

    assert found == Cut(200, 200 * 64, sum(map(len, chunks[:200])))


@pytest.mark.parametrize("data", [b"", b"\0\3\0", b"\0\3\0\1", b"\0\2\0\1"])
def test_cut_of_no_whole_entry_is_nothing(tmp_path: Path, data: bytes) -> None:
    assert cut(tmp_path, data, 9).revisions == 0


@pytest.mark.parametrize("kept", range(1, 5))
def test_join_inline_gives_the_bytes_from_before_the_split(kept: int) -> None:
    before = inline(CHUNKS[:kept], range(kept))

    joined = join_inline(split(CHUNKS, range(4)), b"".join(CHUNKS), len(before), "x.i")

    assert joined == before


@pytest.mark.parametrize("off", [-1, 1, 64])
def test_join_inline_fails_where_no_revision_ends(off: int) -> None:
    size = len(inline(CHUNKS[:3], range(3))) + off

    with pytest.raises(StoreError) as caught:
        join_inline(split(CHUNKS, range(4)), b"".join(CHUNKS), size, "x.i")

    assert caught.value.path == "x.i"


def test_join_inline_fails_when_data_is_missing() -> None:
    size = len(inline(CHUNKS, range(4)))

    with pytest.raises(StoreError):
        join_inline(split(CHUNKS, range(4)), b"".join(CHUNKS)[:-1], size, "x.i")


@pytest.mark.parametrize("size", [0, 63, 64, 127, 128, 200, 256])
def test_data_end_is_that_of_the_last_whole_entry(tmp_path: Path, size: int) -> None:
    (tmp_path / "x.i").write_bytes(split(CHUNKS, range(4)))
    with FileIO(str(tmp_path / "x.i")) as file:
        assert data_end(file.fileno(), size) == sum(map(len, CHUNKS[: size // 64]))


def test_data_end_is_0_for_an_inline_index(tmp_path: Path) -> None:
    data = inline(CHUNKS, range(4))
    (tmp_path / "x.i").write_bytes(data)
    with FileIO(str(tmp_path / "x.i")) as file:
        assert data_end(file.fileno(), os.fstat(file.fileno()).st_size) == 0
