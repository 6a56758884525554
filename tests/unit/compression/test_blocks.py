from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trunkline.compression.blocks import coalesce, take

BLOCKS = st.lists(st.binary(max_size=20))


@given(BLOCKS, st.integers(1, 50))
def test_coalesce_keeps_bytes_and_gives_full_blocks(blocks: list[bytes], size: int) -> None:
    result = list(coalesce(blocks, size))
    assert b"".join(result) == b"".join(blocks)
    assert all(len(block) >= size for block in result[:-1])
    assert all(result)


def test_coalesce_passes_a_large_block_without_a_copy() -> None:
    block = bytes(100)
    assert next(coalesce([block], 100)) is block


def test_coalesce_pulls_no_more_than_one_block_needs() -> None:
    blocks = iter([b"ab", b"cd", b"ef"])
    assert next(coalesce(blocks, 3)) == b"abcd"
    assert next(blocks) == b"ef"


@given(BLOCKS, st.integers(0, 50))
def test_take_stops_past_size_and_leaves_the_rest(blocks: list[bytes], size: int) -> None:
    source = iter(blocks)
    first, is_all = take(source, size)
    assert first + b"".join(source) == b"".join(blocks)
    assert is_all == (len(b"".join(blocks)) <= size)
