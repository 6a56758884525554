from __future__ import annotations

from pathlib import Path

from trunkline.svn.txn.area import Area
from trunkline.svn.txn.assembly import Memory

UUID = b"11111111-2222-3333-4444-555555555555"


def test_requests_at_once_read_each_line_of_a_journal_once(tmp_path: Path) -> None:
    """Each on its own, PUTs by 8 connections cost the square of their number."""
    transactions = Area(str(tmp_path)).of(b"/repository", UUID)
    name = transactions.create(1, None).name
    memory = Memory()
    first, second = (transactions.open(name, None) for _ in range(2))
    known = memory.of(first)
    first.append(["mkdir", "/d"])
    known.catch_up(first)
    journal = Path(first.path) / "journal"
    journal.write_bytes(b"?" * (journal.stat().st_size - 1) + b"\n")  # who reads it, notices
    memory.of(second).catch_up(second)
    assert memory.of(second) is known
