from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.warm import WARM
from tests.unit.hg.store.stock import Stock

from trunkline.errors import StoreError
from trunkline.hg.node import Node
from trunkline.hg.store.hgtags_cache import UNKNOWN, HgtagsCache, read_hgtags_cache
from trunkline.hg.store.repository import Repository
from trunkline.hg.store.tags import Tag, file_text, merge_tags, parse_tags

A, B, C = Node(b"a" * 20), Node(b"b" * 20), Node(b"c" * 20)
HEX = {node: node.hex().encode() for node in (A, B, C)}


def test_the_last_line_of_a_name_wins() -> None:
    data = b"%b v1\n%b v1\r\n%b a b \n" % (HEX[A], HEX[B], HEX[C])
    assert parse_tags(data) == {b"v1": Tag(B, (A,)), b"a b": Tag(C, ())}


@pytest.mark.parametrize("line", [b"", b"v1", b"zz v1", HEX[A]])
def test_a_line_that_is_none_is_passed_over(line: bytes) -> None:
    assert parse_tags(line + b"\n%b good" % HEX[B]) == {b"good": Tag(B, ())}


def test_a_later_file_wins_unless_what_it_says_is_superseded() -> None:
    tags = {b"t": Tag(B, (A,))}
    merge_tags(tags, {b"t": Tag(A, ())})
    assert tags == {b"t": Tag(B, (A,))}
    merge_tags(tags, {b"t": Tag(C, ())})
    assert tags == {b"t": Tag(C, (A,))}


def test_deleted_and_moved_tags(tmp_path: Path) -> None:
    stock = Stock(tmp_path / "repo")
    stock.commit(files={b"file": b"0"})
    one = stock.tag_lines([b"kept", b"gone", b"moved"], [0, 0, 0])
    stock.commit(0, files={b".hgtags": one})
    stock.commit(1, files={b".hgtags": one + stock.tag_lines([b"gone", b"moved"], [-1, 1])})
    view = stock.repository().snapshot().view("served")
    assert view.tags == {b"kept": view.node(0), b"moved": view.node(1)}


@pytest.mark.parametrize("content", [b"", b"\xff" * 24 * 9, b"\0" * 24 * 9, b"torn", b"\x01" * 700])
def test_a_broken_cache_neither_breaks_nor_lies(tmp_path: Path, content: bytes) -> None:
    stock = Stock(tmp_path / "repo")
    stock.commit(files={b"file": b"0"})
    stock.commit(0, files={b".hgtags": stock.tag_lines([b"v1"], [0])})
    stock.commit(1, files={b"file": b"2"})
    (tmp_path / "repo/.hg/cache").mkdir(exist_ok=True)
    (tmp_path / "repo/.hg/cache/hgtagsfnodes1").write_bytes(content)
    view = stock.repository().snapshot().view("served")
    assert view.tags == {b"v1": view.node(0)}


def test_a_cache_record_counts_only_with_its_changesets_prefix(tmp_path: Path) -> None:
    cache = HgtagsCache(A[:4] + C + B[:4] + C + UNKNOWN + A[:4])
    assert cache.get(0, A) == C
    assert cache.get(1, A) is None
    assert cache.get(2, Node(b"\xff" * 20)) is None
    assert cache.get(3, A) is None  # cut short
    assert cache.get(9, A) is None
    (tmp_path / "hgtagsfnodes1").write_bytes(A[:4] + C)
    assert read_hgtags_cache(str(tmp_path)).get(0, A) == C


def test_a_cache_that_cant_be_read_is_empty(tmp_path: Path) -> None:
    (tmp_path / "hgtagsfnodes1").mkdir()
    assert read_hgtags_cache(str(tmp_path)).get(0, A) is None


def test_tags_are_read_behind_the_metadata_of_a_copied_file(tmp_path: Path) -> None:
    hg, repo = WARM, tmp_path / "repo"
    hg("init", repo)
    (repo / "old").write_bytes(b"")
    hg("commit", "-qAm", "a file", cwd=repo)
    node = hg("log", "-r", ".", "-T", "{node}", cwd=repo)
    hg("move", "old", ".hgtags", cwd=repo)
    (repo / ".hgtags").write_bytes(node + b" v1\n")
    hg("commit", "-m", "moved", cwd=repo)
    snapshot = Repository(str(repo)).snapshot()
    filelog = snapshot.filelog(b".hgtags")
    assert filelog is not None
    assert b"copy: old" in filelog.text(0)
    assert file_text(filelog, 0) == node + b" v1\n"
    assert snapshot.view("served").tags == {b"v1": bytes.fromhex(node.decode())}


def test_tags_with_a_manifest_that_isnt_there_are_damage(tmp_path: Path) -> None:
    stock = Stock(tmp_path / "repo")
    stock.commit(files={b".hgtags": b""})
    (tmp_path / "repo/.hg/store/00manifest.i").unlink()
    with pytest.raises(StoreError):
        _ = stock.repository().snapshot().view("served").tags
