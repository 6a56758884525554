from __future__ import annotations

import os
import random
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trunkline.compression import mixture
from trunkline.compression.mixture import SEGMENT, Mixture


def text(size: int, seed: int = 1, words: int = 2000) -> bytes:
    """Words drawn unevenly: packs to a third or so."""
    chance = random.Random(seed)
    vocabulary = [chance.randbytes(chance.randrange(3, 14)).hex().encode() for _ in range(words)]
    drawn = b" ".join(vocabulary[int(chance.paretovariate(1)) % words] for _ in range(100_000))
    start = iter(range(0, size, 7919))  # a prime, so that each round is another one
    return b"".join(drawn[at % 200_000 : at % 200_000 + 7919] for at in start)[:size]


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def pack(data: bytes, size: int = 1 << 18) -> bytes:
    return b"".join(Mixture().pack(cut(data, size)))


def test_stream_of_many_turns_is_one_zlib_stream() -> None:
    data = text(6 * SEGMENT) + random.Random(2).randbytes(3 * SEGMENT) + bytes(4 * SEGMENT)
    packed = pack(data)
    reader = zlib.decompressobj()
    assert reader.decompress(packed) + reader.flush() == data
    assert reader.eof
    assert reader.unused_data == b""


def test_both_packers_get_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []
    for name in ("start_small", "start_fast"):
        start = getattr(mixture, name)

        def counted(window: bytes, name: str = name, start: object = start) -> object:
            turns.append(name)
            assert callable(start)
            return start(window)

        monkeypatch.setattr(mixture, name, counted)
    pack(text(30 * SEGMENT))
    assert turns.count("start_small") > 1  # took over again after the other one's turn
    assert turns.count("start_fast") > 1


def test_size_of_real_text_stays_close_to_zlibs_own() -> None:
    """The standard library's sources: 10 MB."""
    folder = Path(os.__file__).parent
    data = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py"))) * 2
    assert len(data) > 16 * SEGMENT
    assert len(pack(data)) <= 1.08 * len(zlib.compress(data))


@pytest.mark.parametrize("size", [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT])
def test_ends_of_segments(size: int) -> None:
    data = text(size)
    assert zlib.decompress(pack(data, SEGMENT)) == data


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=200), max_size=40), st.integers(1, 300))
def test_any_cut_reads_back(blocks: list[bytes], segment: int) -> None:
    """With short segments, so that turns change within a few hundred bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture, "SEGMENT", segment)
        packed = b"".join(Mixture().pack(iter(blocks)))
    assert zlib.decompress(packed) == b"".join(blocks)


@settings(max_examples=10)
@given(st.integers(0, 1000), st.integers(1000, 100_000))
def test_matches_across_turns_read_back(seed: int, block: int) -> None:
    """A period close to the window: matches reach back over the change of turn."""
    data = random.Random(seed).randbytes(31_000) * 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture, "SEGMENT", 50_000)
        packed = pack(data, block)
    assert zlib.decompress(packed) == data
    assert len(packed) < 31_000 * 4
