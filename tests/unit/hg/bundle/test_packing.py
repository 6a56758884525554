"""Blocks are of a size that is cheap to hand on, whatever the sizes of what is in them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from tests.unit.hg.bundle import histories
from tests.unit.hg.store import repositories

from trunkline.errors import StoreError
from trunkline.hg.bundle.packing import BLOCK, Packer
from trunkline.hg.bundle.version import VERSIONS
from trunkline.hg.store.index import RowIndex
from trunkline.hg.store.revlog import Revlog
from trunkline.hg.store.view import View

CG2 = VERSIONS[b"02"]
HEAD = bytes(range(100))


NO_REVLOG = Revlog("none.i", RowIndex(b""))  # it is asked only about texts that are wrong


def head_of(text: bytes) -> bytes:
    """The head of a root's full text."""
    return hashlib.sha1(bytes(40) + text).digest() + bytes(80)


def packed(heads: list[bytes], bases: list[int], deltas: list[bytes]) -> list[bytes]:
    packer = Packer(CG2)
    return [*packer.revisions(NO_REVLOG, heads, bases, deltas), packer.take()]


def test_delta_full_text_and_empty_text_are_framed() -> None:
    full, empty = head_of(b"text"), head_of(b"")
    (block,) = packed([HEAD, full, empty], [0, -1, -1], [b"delta", b"text", b""])
    assert block == (
        b"\0\0\0\x6d" + HEAD + b"delta"
        b"\0\0\0\x78" + full + b"\0\0\0\0\0\0\0\0\0\0\0\x04text"
        b"\0\0\0\x68" + empty
    )


def test_small_pieces_gather_into_blocks() -> None:
    blocks = packed([HEAD] * 1000, [0] * 1000, [bytes(1000)] * 1000)
    assert [len(block) >= BLOCK for block in blocks] == [True] * 4 + [False]
    assert sum(map(len, blocks)) == 1000 * 1104


def test_large_piece_is_cut() -> None:
    deltas = [b"x", os.urandom(3 * BLOCK + 5), b"y"]
    full = head_of(deltas[1])
    blocks = packed([HEAD, full, HEAD], [0, -1, 0], deltas)
    assert max(map(len, blocks)) <= BLOCK
    whole = b"".join(blocks)
    assert whole == b"".join(packed([HEAD], [0], deltas[:1])) + b"".join(
        packed([full], [-1], deltas[1:2])
    ) + b"".join(packed([HEAD], [0], deltas[2:]))


def test_what_was_added_between_comes_first() -> None:
    packer = Packer(CG2)
    packer.add(b"path")
    assert list(packer.revisions(NO_REVLOG, [HEAD], [0], [b""])) == []
    packer.add(b"end")
    assert packer.take() == b"path\0\0\0\x68" + HEAD + b"end"
    assert packer.take() == b""


def test_one_head_without_its_delta_is_a_bug() -> None:
    with pytest.raises(ValueError, match="shorter"):
        packed([HEAD] * 2, [0, 0], [b""])


# -- whole filelogs


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A split filelog of raw, zstd and long revisions."""
    repositories.make(tmp_path)
    noise = os.urandom(3 * BLOCK)
    with repositories.writing(tmp_path) as hg:
        for n, data in enumerate((noise, b"line\n" * 400_000, noise[::-1], b"", b"short\n")):
            repositories.commit(hg, tmp_path, {"a": data}, str(n))
    return tmp_path


def packed_filelog(view: View) -> list[bytes]:
    filelog = view.snapshot.filelog(b"a")
    assert filelog is not None
    packer = Packer(CG2)
    return [*packer.whole_filelog(filelog, view.snapshot.changelog), packer.take()]


def test_whole_filelog_is_cut_and_is_stocks(large: Path) -> None:
    blocks = packed_filelog(histories.view(large))
    assert max(map(len, blocks)) < 2 * BLOCK
    stock = histories.stock_changegroup(histories.open_repository(large), [], [], b"02")
    assert b"".join(blocks) in stock
    assert len(histories.split_groups(b"".join(blocks) + bytes(4))[0]) == 5


def damage(path: Path, at: int, data: bytes) -> None:
    with open(path / ".hg/store/data/a.i", "r+b") as file:
        file.seek(at)
        file.write(data)


def test_delta_against_a_later_revision_is_damage(large: Path) -> None:
    damage(large, 64 + 16, b"\0\0\0\x03")
    with pytest.raises(StoreError, match=r"revision 1 is a delta against 3 .*a\.i"):
        packed_filelog(histories.view(large))


def test_chunk_that_does_not_unpack_is_damage_and_says_where(large: Path) -> None:
    filelog = histories.view(large).snapshot.filelog(b"a")
    assert filelog is not None
    with open(large / ".hg/store/data/a.d", "r+b") as file:
        file.seek(filelog.start(1) + 6)
        file.write(b"\xff" * 40)
    with pytest.raises(StoreError, match=rf"a\.d at byte {filelog.start(1)}"):
        packed_filelog(histories.view(large))


def test_full_text_that_is_not_what_its_node_says_is_damage(large: Path) -> None:
    """Noise is stored as it is, so a byte changes without a sign of it."""
    with open(large / ".hg/store/data/a.d", "r+b") as file:
        file.seek(1000)
        file.write(b"XX")
    with pytest.raises(StoreError, match=r"revision 0 isn't what its node says .*a\.d at byte 0\]"):
        packed_filelog(histories.view(large))
