"""Every revision of every revlog is what Mercurial says it is, in each format on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.unit.hg.store import repositories

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE
from trunkline.hg.store.chunk import decompress
from trunkline.hg.store.delta import apply_patches
from trunkline.hg.store.revlog import (
    BLOCK_LIMIT,
    CensoredRevision,
    Revlog,
    gather,
    open_columns,
    open_rows,
)

ROOT = Path(__file__).parent


@pytest.fixture(scope="module", params=repositories.FORMATS)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("revlog") / request.param
    return repositories.sample(path, *repositories.FORMATS[request.param])


def compare(ours: Revlog, theirs: Any) -> None:
    assert ours.count == len(theirs) > 0
    assert list(ours.stored_many(range(ours.count))) == [ours.stored(r) for r in range(ours.count)]
    entries = ours.entries()
    for rev in range(ours.count):
        assert ours.node(rev) == theirs.node(rev)
        assert ours.rev(theirs.node(rev)) == rev
        assert ours.parents(rev) == theirs.parentrevs(rev)
        assert ours.linkrev(rev) == theirs.linkrev(rev)
        assert ours.flags(rev) == theirs.flags(rev)
        assert ours.base(rev) == theirs.deltaparent(rev)
        text = ours.text(rev)
        assert text == theirs.rawdata(rev)
        base = ours.base(rev)
        stored = ours.stored(rev)
        assert text == (stored if base < 0 else apply_patches(ours.text(base), [stored]))
        offset, flags, length, full, parent, link, p1, p2, node = entries[rev]
        assert (offset, length) == (theirs.start(rev), theirs.length(rev))
        assert (flags, parent, link, node) == (ours.flags(rev), base, ours.linkrev(rev), node)
        assert (p1, p2) == ours.parents(rev)
        assert full == len(text)
        assert decompress(ours.read_raw(ours.start(rev), length)) == stored
    assert ours.rev(NULL_NODE) == -1
    assert ours.rev(b"\x11" * 20) is None


def test_all_revlogs_are_mercurials_for_each_format(sample: Path) -> None:
    repo = repositories.oracle(sample)
    snapshot = repositories.opened(sample).snapshot()
    compare(snapshot.changelog, repo.changelog)
    compare(snapshot.manifest(), repo.manifestlog.getstorage(b"")._revlog)
    kinds = set()
    for name in repositories.tracked(repo):
        filelog = snapshot.filelog(name)
        assert filelog is not None, name
        compare(filelog, repo.file(name)._revlog)
        kinds.add((filelog.index.is_inline, filelog.held is not None))
    assert kinds == {(True, True), (False, False)}


def test_filelog_is_none_for_a_file_that_never_was(sample: Path) -> None:
    assert repositories.opened(sample).snapshot().filelog(b"never") is None


def test_rows_and_columns_say_the_same(sample: Path) -> None:
    for name in ("00changelog.i", "00manifest.i"):
        path = str(sample / ".hg/store" / name)
        rows, columns = open_rows(path), open_columns(path)
        assert list(rows.rows()) == list(columns.rows())
        assert list(rows.rows(2, 4)) == list(columns.rows(2, 4)) == list(rows.rows())[2:4]
        assert rows.entries() == columns.entries()
        nodes = [row[7] for row in rows.rows()]
        asked = [*nodes[::-1], NULL_NODE, b"\x22" * 20]
        assert columns.revs(asked).tolist() == [*reversed(range(len(nodes))), -1, -2]
        assert list(rows.stored_many([3, 1, 2])) == list(columns.stored_many([3, 1, 2]))
        with pytest.raises(IndexError):
            columns.text(rows.count)


def test_linkrev_limit_drops_what_later_changesets_brought(sample: Path) -> None:
    for name in ("data/a.i", "00manifest.i"):
        path = str(sample / ".hg/store" / name)
        whole = open_rows(path)
        for limit in range(8):
            known = [row for row in whole.rows() if row[4] < limit]
            assert list(open_rows(path, limit).rows()) == known
            assert list(open_columns(path, limit).rows()) == known


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repositories.sample(tmp_path_factory.mktemp("plain") / "repo")


def copy_of(source: Path, target: Path, change: dict[int, int], length: int | None = None) -> str:
    """A copy of a revlog in which some bytes are others."""
    for suffix in (".i", ".d"):
        if source.with_suffix(suffix).exists():
            target.with_suffix(suffix).write_bytes(source.with_suffix(suffix).read_bytes())
    data = bytearray(target.read_bytes())
    for at, byte in change.items():
        data[at] = byte
    target.write_bytes(data[:length])
    return str(target.with_suffix(".i"))


def test_cut_index_gives_whole_entries(plain: Path, tmp_path: Path) -> None:
    for name in ("00manifest.i", "data/big.i"):
        source = plain / ".hg/store" / name
        whole = open_rows(str(source))
        ends = [
            whole.start(rev) + whole.rows()[rev][1] if whole.index.is_inline else 64 * (rev + 1)
            for rev in range(whole.count)
        ]
        for length in {0, 4, 63, 64, 65, *ends, *(end - 1 for end in ends), ends[0] + 63}:
            path = copy_of(source, tmp_path / "x.i", {}, length)
            expected = sum(end <= length for end in ends)
            assert open_rows(path).count == open_columns(path).count == expected, length


def test_damage_names_file_and_offset(plain: Path, tmp_path: Path) -> None:
    data = plain / ".hg/store/data/big.d"
    whole = open_rows(str(data.with_suffix(".i")))
    copy_of(data, tmp_path / "big.d", {whole.start(1): 0xEE})
    damaged = open_rows(str(tmp_path / "big.i"))
    with pytest.raises(StoreError, match="unknown byte 0xee") as raised:
        damaged.text(1)
    assert (raised.value.path, raised.value.offset) == (str(tmp_path / "big.d"), whole.start(1))
    with pytest.raises(StoreError, match="unknown byte 0xee"):
        list(damaged.stored_many([0, 1]))
    assert damaged.text(0) == whole.text(0)


def test_data_that_is_too_short_is_an_error(plain: Path, tmp_path: Path) -> None:
    data = plain / ".hg/store/data/big.d"
    whole = open_rows(str(data.with_suffix(".i")))
    copy_of(data, tmp_path / "big.d", {}, whole.start(2) + 10)
    damaged = open_rows(str(tmp_path / "big.i"))
    assert damaged.text(1) == whole.text(1)
    with pytest.raises(StoreError, match="bytes wanted") as raised:
        damaged.stored(2)
    assert raised.value.path == str(tmp_path / "big.d")
    os.unlink(tmp_path / "big.d")
    with pytest.raises(StoreError, match="No such file"):
        open_rows(str(tmp_path / "big.i")).stored(0)


def test_text_that_is_not_its_node_is_an_error(plain: Path, tmp_path: Path) -> None:
    path = copy_of(plain / ".hg/store/data/a.i", tmp_path / "a.i", {32: 0})
    with pytest.raises(StoreError, match="isn't what its node says"):
        open_rows(path).text(0)


def test_delta_against_a_later_revision_is_an_error(plain: Path, tmp_path: Path) -> None:
    source = plain / ".hg/store/data/big.i"
    path = copy_of(source, tmp_path / "big.i", {64 + 19: 2})
    with pytest.raises(StoreError, match="revision 1 is a delta against 2"):
        open_rows(path).text(1)


@pytest.mark.parametrize("header", [b"\0\0\0\0", b"\0\0\0\2", b"\0\4\0\1", b"\0\0\xde\xad"])
def test_other_revlog_versions_are_an_error(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "x.i").write_bytes(header + bytes(60))
    for opener in (open_rows, open_columns):
        with pytest.raises(StoreError, match="not a revlog 1 index"):
            opener(str(tmp_path / "x.i"))


def test_censored_text_gives_the_tombstone(tmp_path: Path) -> None:
    path = repositories.make(tmp_path / "repo")
    with repositories.writing(path, "extensions.censor=") as hg:
        bad = repositories.commit(hg, path, {"secret": b"password\n" * 99}, "bad")
        repositories.commit(hg, path, {"secret": b"nothing\n"}, "good")
        repositories.commit(hg, path, {"secret": b"nothing\nmore\n"}, "better")
        hg("censor", "-r", bad, "-t", "removed by law", path / "secret")
    filelog = repositories.opened(path).snapshot().filelog(b"secret")
    assert filelog is not None
    with pytest.raises(CensoredRevision) as raised:
        filelog.text(0)
    assert raised.value.tombstone == b"\1\ncensored: removed by law\n\1\n"
    assert filelog.text(1) == b"nothing\n"
    assert filelog.text(2) == b"nothing\nmore\n"


def test_gather_reads_neighbours_at_once_up_to_the_limit() -> None:
    half = BLOCK_LIMIT // 2
    starts, lengths = [0, half, 2 * half, 9 * half, 3], [half, half, 1, 5, 3]
    assert gather(starts, lengths, 0) == (2, 2 * half)
    assert gather(starts, lengths, 2) == (3, 2 * half + 1)
    assert gather(starts, lengths, 3) == (4, 9 * half + 5)
    assert gather(starts, lengths, 4) == (5, 6)


def test_a_chunk_above_the_block_limit_is_read_whole(tmp_path: Path) -> None:
    path = repositories.make(tmp_path / "repo")
    noise = os.urandom(BLOCK_LIMIT + 12345)
    with repositories.writing(path) as hg:
        repositories.commit(hg, path, {"huge": noise}, "huge")
        repositories.commit(hg, path, {"huge": noise + b"tail"}, "huge")
    filelog = repositories.opened(path).snapshot().filelog(b"huge")
    assert filelog is not None
    assert filelog.text(0) == noise
    assert filelog.text(1) == noise + b"tail"


def test_zstd_frame_without_content_size_is_read() -> None:
    """Mercurial writes texts of more than 1,000,000 bytes as a stream."""
    text = os.urandom(1000) * 1500
    packer = zstandard.ZstdCompressor().compressobj()
    frame = packer.compress(text) + packer.flush()
    assert zstandard.frame_content_size(frame) == -1
    assert decompress(frame) == text
    for damaged in (frame[:-1], frame[:200]):
        with pytest.raises(StoreError, match="cut short"):
            decompress(damaged)
