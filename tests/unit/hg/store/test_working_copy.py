from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from tests.compat.warm import WARM
from tests.unit.hg.store.repositories import make, opened

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, Node
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.store.working_copy import (
    Parents,
    parse_parents,
    parse_records,
    unresolved_sides,
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


def now(path: Path) -> Snapshot:
    return opened(path).snapshot()


def test_there_is_no_parent_without_a_dirstate(tmp_path: Path) -> None:
    assert parse_parents(b"") == NOBODY
    assert now(make(tmp_path / "r")).parents == NOBODY


@pytest.mark.parametrize("version", ["yes", "no"])
def test_parents_and_conflict_of_a_real_merge(tmp_path: Path, version: str) -> None:
    hg = WARM.with_config(
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
    assert now(repo).parents == (nodes[2], NULL_NODE)
    assert now(repo).unresolved == []
    before = now(repo)
    hg.run("merge", "1", cwd=repo, expect=1)
    assert before.parents == (nodes[2], NULL_NODE)  # as they were
    assert before.unresolved == []
    assert now(repo).parents == (nodes[2], nodes[1])
    assert now(repo).unresolved == [nodes[2], nodes[1]]

    new = repo / ".hg/merge/state2"
    kept = new.read_bytes()
    new.unlink()
    assert now(repo).unresolved == [nodes[2], nodes[1]]
    # A newer file that an old Mercurial has left behind when it wrote the older one.
    new.write_bytes(kept.replace(nodes[2].hex().encode(), b"12" * 20))
    assert now(repo).unresolved == [nodes[2], nodes[1]]

    new.write_bytes(kept)
    hg("resolve", "-m", "--all", cwd=repo)
    assert now(repo).unresolved == []
    shutil.rmtree(repo / ".hg/merge")
    assert now(repo).unresolved == []


def test_an_overridden_record_has_its_real_type_first() -> None:
    assert parse_records(b"t\0\0\0\4Pabc") == [(ord("P"), b"abc")]


@pytest.mark.parametrize("data", [b"L", b"L\0\0\0"])
def test_records_that_are_cut_short_are_damage(data: bytes) -> None:
    with pytest.raises(StoreError):
        parse_records(data)


def test_a_conflict_without_nodes_is_damage() -> None:
    record = b"file\0u\0"
    data = b"L\0\0\0\1xF" + struct.pack(">I", len(record)) + record
    with pytest.raises(StoreError) as caught:
        unresolved_sides(data, b"", NOBODY, "r/.hg")
    assert caught.value.path == "r/.hg/merge/state2"
    with pytest.raises(StoreError) as caught:
        unresolved_sides(data[:-1] + b"\0L", b"", NOBODY, "r/.hg")
    assert (caught.value.path, caught.value.offset) == ("r/.hg/merge/state2", len(data))
