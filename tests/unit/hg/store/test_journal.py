from __future__ import annotations

from pathlib import Path

from trunkline.hg.store.journal import NO_JOURNAL, Touch, parse_journal, read_journal, read_touch

LENGTHS = b"data/a.i\x0012\n00changelog.d\x00345\nobsstore\x000\n00changelog.i\x0064\n"
BACKUPS = (
    b"2\n\0fncache\0journal.backup.fncache.bck\0000\n"
    b"\0phaseroots\0journal.backup.phaseroots.bck\0000\n"
    b"plain\0bookmarks\0journal.backup.bookmarks.bck\0000\n"
    b"plain\0dirstate\0\0000\n"
)


def test_parse_gives_lengths_and_backups() -> None:
    journal = parse_journal(LENGTHS, BACKUPS)
    assert journal.lengths == {"00changelog.d": 345, "obsstore": 0, "00changelog.i": 64}
    assert journal.backups == {
        "phaseroots": "journal.backup.phaseroots.bck",
        "bookmarks": "journal.backup.bookmarks.bck",
    }


def test_parse_leaves_out_a_line_that_is_not_whole() -> None:
    for length in range(len(LENGTHS)):
        whole = LENGTHS[:length].count(b"\n")
        assert len(parse_journal(LENGTHS[:length], b"").lengths) == max(0, whole - 1)
    assert parse_journal(b"", BACKUPS[:-1]).backups == parse_journal(b"", BACKUPS).backups
    assert not parse_journal(b"", BACKUPS[:60]).backups


def test_the_last_length_of_a_path_holds() -> None:
    assert parse_journal(b"obsstore\x005\nobsstore\x007\n", b"").lengths == {"obsstore": 7}


def test_a_backup_without_a_name_had_no_file() -> None:
    assert parse_journal(b"", b"2\n\0phaseroots\0\0000\n").backups == {"phaseroots": ""}


def test_no_file_is_no_journal(tmp_path: Path) -> None:
    assert read_journal(str(tmp_path)) is NO_JOURNAL
    (tmp_path / "journal").write_bytes(LENGTHS)
    assert read_journal(str(tmp_path)).lengths["obsstore"] == 0
    (tmp_path / "journal.backupfiles").write_bytes(BACKUPS)
    assert read_journal(str(tmp_path)).backups


def test_touch_says_what_is_done_to_a_file(tmp_path: Path) -> None:
    store = str(tmp_path)
    assert read_touch(store, b"data/a.i") is Touch.NONE
    (tmp_path / "journal").write_bytes(LENGTHS)
    assert read_touch(store, b"data/a.i") is Touch.APPEND
    assert read_touch(store, b"a.i") is Touch.NONE
    (tmp_path / "journal.backupfiles").write_bytes(b"2\n\0data/a.i\0data/b.bck\0000\n")
    assert read_touch(store, b"data/a.i") is Touch.RESTORE
    (tmp_path / "journal.backupfiles").rename(tmp_path / "undo.backupfiles")
    assert read_touch(store, b"data/a.i") is Touch.APPEND
    (tmp_path / "lock").symlink_to("host:1")
    assert read_touch(store, b"data/a.i") is Touch.RESTORE


def test_a_length_of_too_many_digits_is_none() -> None:
    """Python takes no number of 5,000 digits, and no file has such a length."""
    assert parse_journal(b"obsstore\0" + b"9" * 5000 + b"\n", b"").lengths == {}
