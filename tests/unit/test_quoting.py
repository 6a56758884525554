from __future__ import annotations

import tracemalloc
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trunkline.quoting import PIECE, pieces, unquote, unquote_piece

TEXTS = st.lists(st.sampled_from([b"%", b"4", b"1", b"aF", b"g", b"%41", b"%fF", b"\x00+"])).map(
    b"".join
)


@given(TEXTS)
def test_reads_what_urllib_reads(text: bytes) -> None:
    assert unquote(text) == unquote_to_bytes(text)
    assert unquote_piece(text) == unquote_to_bytes(text)


@settings(max_examples=20)
@given(TEXTS, st.integers(0, 3))
def test_cuts_nothing_quoted_in_two(text: bytes, before: int) -> None:
    long = b"%" * (PIECE - before - len(text) // 2) + text + b"%41" * PIECE
    assert unquote(long) == unquote_to_bytes(long)
    assert b"".join(pieces(long)) == long
    assert max(map(len, pieces(long))) <= PIECE


@pytest.mark.parametrize("word", [b"%", b"%41", b"%4"])
def test_needs_no_more_than_the_text_a_few_times(word: bytes) -> None:
    text = word * (4 * 1024 * 1024 // len(word))
    tracemalloc.start()
    try:
        unquote(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(text)
