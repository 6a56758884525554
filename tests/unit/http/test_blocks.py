from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.errors import StoreError
from trunkline.http.blocks import ENOUGH, LONGEST, Pieces, read_span
from trunkline.reply import Span


def pulled(pieces: Pieces) -> list[bytes]:
    found = []
    while True:
        piece = pieces.pull()
        found.append(piece.data)
        if piece.is_last:
            return found


@given(st.lists(st.integers(0, 3 * LONGEST), max_size=8))
def test_same_bytes_in_pieces_of_bounded_size(sizes: list[int]) -> None:
    blocks = [bytes([number]) * size for number, size in enumerate(sizes)]
    pieces = pulled(Pieces(iter(blocks)))
    assert b"".join(pieces) == b"".join(blocks)
    assert all(len(piece) <= ENOUGH + LONGEST for piece in pieces)
    assert all(pieces[:-1]), "only the last piece may be empty"


def test_small_blocks_are_put_together() -> None:
    pieces = Pieces(iter([b"x" * 1024] * 4096))
    pieces._patience = 60.0
    sizes = [len(piece) for piece in pulled(pieces)]
    assert sum(sizes) == 4096 * 1024
    assert max(sizes) >= ENOUGH


def test_nothing_is_one_empty_last_piece() -> None:
    assert pulled(Pieces(iter(()))) == [b""]


def test_a_failure_comes_through_and_close_closes() -> None:
    closed = []

    def blocks() -> Iterator[bytes]:
        try:
            yield b"x" * ENOUGH
            raise StoreError("damaged", "f", 7)
        finally:
            closed.append(True)

    pieces = Pieces(blocks())
    assert pieces.pull().data == b"x" * ENOUGH
    with pytest.raises(StoreError):
        pieces.pull()
    early = Pieces(blocks())
    early.pull()
    closed.clear()
    early.close()
    early.close()
    assert closed == [True]


@pytest.mark.parametrize(("offset", "length"), [(0, 0), (0, 10), (3, 4), (0, 1_500_000)])
def test_span_is_part_of_a_file(tmp_path: Path, offset: int, length: int) -> None:
    file = tmp_path / "f"
    data = bytes(range(256)) * 6000
    file.write_bytes(data)
    got = b"".join(read_span(Span(str(file), offset, length)))
    assert got == data[offset : offset + length]
    assert len(got) == length


def test_span_of_a_file_that_shrank_fails(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"123456")
    with pytest.raises(StoreError) as caught:
        list(read_span(Span(str(file), 2, 5)))
    assert (caught.value.path, caught.value.offset) == (str(file), 6)
    with pytest.raises(StoreError, match="No such file"):
        list(read_span(Span(str(tmp_path / "none"), 0, 1)))
