from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from trunkline.errors import PeerError, StoreError
from trunkline.svn.repository.error import SvnError
from trunkline.svn.txn.area import SHORT_BODY, Area, sweep


def test_a_transaction_is_seen_by_every_worker(tmp_path: Path) -> None:
    one, two = (Area(str(tmp_path)).of(b"/r", b"uuid") for _ in range(2))
    made = one.create(7, b"alice")
    found = two.open(made.name, b"alice")
    assert found.head().base == 7
    found.append(["x", 1])
    made.append(["y", 2])
    records, offset = one.open(made.name, b"alice").read(0)
    assert records == [["x", 1], ["y", 2]]
    assert two.open(made.name, b"alice").read(offset) == ([], offset)
    assert two.names() == [made.name]


def test_half_a_line_isnt_read(tmp_path: Path) -> None:
    made = Area(str(tmp_path)).of(b"/r", b"uuid").create(7, None)
    made.append(["x"])
    with open(made.path + "/journal", "ab") as file:
        file.write(b'["y"')
    assert made.read(0)[0] == [["x"]]


def test_others_and_strangers_are_refused(tmp_path: Path) -> None:
    area = Area(str(tmp_path)).of(b"/r", b"uuid")
    made = area.create(7, b"alice", b"own-name")
    with pytest.raises(SvnError):
        area.open(made.name, b"bob")
    with pytest.raises(SvnError):
        area.open(b"none", b"alice")
    with pytest.raises(PeerError):
        area.create(7, b"alice", b"own-name")
    for name in (b"../x", b"", b".", b"a/b", b"a\nb"):
        with pytest.raises(PeerError):
            area.open(name, b"alice")
    other = Area(str(tmp_path)).of(b"/other", b"uuid")
    with pytest.raises(SvnError):
        other.open(made.name, b"alice")


def test_a_body_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    made = Area(str(tmp_path)).of(b"/r", b"uuid").create(7, None)

    def broken() -> object:
        yield b"x"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        made.spool(broken())  # type: ignore[arg-type]
    assert os.listdir(made.path) == ["head"]


def test_old_ones_are_swept_away(tmp_path: Path) -> None:
    area = Area(str(tmp_path)).of(b"/r", b"uuid")
    old, new = area.create(1, None), area.create(1, None)
    new.append(["x"])
    past = time.time() - 1000
    os.utime(old.path, (past, past))
    os.utime(new.path, (past, past))
    sweep(os.path.dirname(old.path), time.time() - 500)
    assert area.names() == [new.name]


def test_a_folder_that_cant_be_written_is_our_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        Area(str(tmp_path / "file")).of(b"/r", b"uuid").create(1, None)


def test_a_put_into_what_was_just_removed_is_told_so(tmp_path: Path) -> None:
    area = Area(str(tmp_path)).of(b"/r", b"uuid")
    made = area.create(7, None)
    name = made.spool([b"x"])
    area.open(made.name, None).remove()
    with pytest.raises(SvnError, match="No transaction named"):
        made.spool([b"x"])
    with pytest.raises(SvnError, match="No transaction named"):
        next(made.body(name))


@pytest.mark.parametrize("sizes", [(0, 3, SHORT_BODY), (SHORT_BODY + 1, 2, 1 << 20)])
def test_bodies_come_back_whole(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    made = Area(str(tmp_path)).of(b"/r", b"uuid").create(7, None)
    texts = [bytes([number + 65]) * size for number, size in enumerate(sizes)]
    names = [made.spool([text[:1000], text[1000:]]) for text in texts]
    for name, text in zip(names, texts, strict=True):
        assert b"".join(made.body(name)) == text
        assert Path(made.body_path(name)).read_bytes() == text


def test_short_bodies_share_a_file(tmp_path: Path) -> None:
    """One for each made 10,000 small files cost twice as long."""
    made = Area(str(tmp_path)).of(b"/r", b"uuid").create(7, None)
    for number in range(20):
        made.spool([b"%d" % number])
    assert sorted(os.listdir(made.path)) == ["bodies", "head"]
