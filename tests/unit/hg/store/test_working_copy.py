from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from tests.compat.hg import INSTALLED

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, Node
from trunkline.hg.store.working_copy import (
    Parents,
    parse_parents,
    parse_records,
    read_parents,
    read_unresolved,
)

A, B = Node(b"a" * 20), Node(b"b" * 20)
NOBODY = Parents(NULL_NODE, NULL_NODE)


@pytest.mark.parametrize("length", range(40))
def test_a_dirstate_that_is_cut_short_has_no_parents(length: int) -> None:
    assert parse_parents((A + B)[:length]) == NOBODY


def test_both_forms_of_dirstate_are_read() -> None:
    pad = bytes(12)
    assert parse_parents(A + B + b"more") == (A, B)
    assert parse_parents(b"dirstate-v2\n" + A + pad + B + pad + b"more") == (A, B)


def test_there_is_no_parent_without_a_dirstate(tmp_path: Path) -> None:
    assert read_parents(str(tmp_path)) == NOBODY


@pytest.mark.parametrize("version", ["yes", "no"])
def test_parents_and_conflict_of_a_real_merge(tmp_path: Path, version: str) -> None:
    hg = INSTALLED.with_config(
        f"format.use-dirstate-v2={version}",
        "ui.merge=internal:fail",
        "storage.dirstate-v2.slow-path=allow",
    )
    repo = tmp_path / "repo"
    hg("init", repo)
    nodes: list[Node] = []
    for text in ("base", "ours", "theirs"):
        if nodes:
            hg("update", "-q", "0", cwd=repo)
        (repo / "file").write_text(text)
        hg("commit", "-qAm", text, cwd=repo)
        nodes.append(Node(bytes.fromhex(hg("log", "-r", ".", "-T{node}", cwd=repo).decode())))
    hg_path = str(repo / ".hg")
    assert read_parents(hg_path) == (nodes[2], NULL_NODE)
    assert read_unresolved(hg_path, read_parents(hg_path)) == []
    hg.run("merge", "1", cwd=repo, expect=1)
    assert read_parents(hg_path) == (nodes[2], nodes[1])
    assert read_unresolved(hg_path, read_parents(hg_path)) == [nodes[2], nodes[1]]

    new = repo / ".hg/merge/state2"
    kept = new.read_bytes()
    new.unlink()
    assert read_unresolved(hg_path, read_parents(hg_path)) == [nodes[2], nodes[1]]
    # A newer file that an old Mercurial has left behind when it wrote the older one.
    new.write_bytes(kept.replace(nodes[2].hex().encode(), b"12" * 20))
    assert read_unresolved(hg_path, read_parents(hg_path)) == [nodes[2], nodes[1]]

    new.write_bytes(kept)
    hg("resolve", "-m", "--all", cwd=repo)
    assert read_unresolved(hg_path, read_parents(hg_path)) == []
    shutil.rmtree(repo / ".hg/merge")
    assert read_unresolved(hg_path, read_parents(hg_path)) == []


def test_an_overridden_record_has_its_real_type_first() -> None:
    assert parse_records(b"t\0\0\0\4Pabc") == [(ord("P"), b"abc")]


@pytest.mark.parametrize("data", [b"L", b"L\0\0\0"])
def test_records_that_are_cut_short_are_damage(data: bytes) -> None:
    with pytest.raises(StoreError):
        parse_records(data)


def test_a_conflict_without_nodes_is_damage(tmp_path: Path) -> None:
    (tmp_path / "merge").mkdir()
    record = b"file\0u\0"
    data = b"L\0\0\0\1xF" + struct.pack(">I", len(record)) + record
    (tmp_path / "merge/state2").write_bytes(data)
    with pytest.raises(StoreError):
        read_unresolved(str(tmp_path), NOBODY)
