from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from trunkline.http.access_log import AccessLog, Line, format_json, format_text

LINE = Line(
    "192.0.2.1", "GET", "/a/b", 200, 12345, 0.25, "zstd", "getbundle", "mercurial/proto-1.0", "ok"
)
ALICE = dataclasses.replace(LINE, user="alice")


def test_text_line_has_every_field() -> None:
    assert format_text(0.5, LINE) == (
        '1970-01-01T00:00:00.500Z 192.0.2.1 - "GET /a/b" 200 12345 0.2500 getbundle zstd ok '
        '"mercurial/proto-1.0"'
    )


def test_user_is_named() -> None:
    assert format_text(0.5, ALICE).split()[1:4] == ["192.0.2.1", "alice", '"GET']
    spaced = dataclasses.replace(LINE, user='Alice "S" x')
    assert format_text(0.5, spaced).split()[2] == r"Alice\x20\"S\"\x20x"


def test_json_line_has_every_field() -> None:
    assert json.loads(format_json(0.5, ALICE)) == {
        "time": "1970-01-01T00:00:00.500Z",
        "client": "192.0.2.1",
        "user": "alice",
        "method": "GET",
        "path": "/a/b",
        "status": 200,
        "bytes": 12345,
        "duration": 0.25,
        "engine": "zstd",
        "command": "getbundle",
        "outcome": "ok",
        "user_agent": "mercurial/proto-1.0",
    }


@pytest.mark.parametrize("bad", ['a" 200 "', "a\nb", "a\r\x1b[2J", "\x85\x9b", "ü\udcff", "\\"])
def test_no_client_can_forge_a_line(bad: str) -> None:
    line = Line(client=bad, user=bad, method=bad, path=bad, user_agent=bad)
    text = format_text(0, line)
    assert len(text.splitlines()) == 1
    assert text.replace("\\\\", "").replace('\\"', "").count('"') == 4
    assert text.isprintable()
    assert len(format_json(0, line).splitlines()) == 1
    json.loads(format_json(0, line)).items()


def test_what_a_client_wrote_is_cut() -> None:
    line = Line(path="/" + "a" * 100_000, user_agent="u" * 100_000)
    assert len(format_text(0, line)) < 4096 > len(format_json(0, line))


def test_appends_to_its_file(tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    file.write_text("before\n")
    for _ in range(2):
        log = AccessLog(str(file), "json")
        log.add(LINE)
        log.add(LINE)
        log.flush()
    lines = file.read_text().splitlines()
    assert lines[0] == "before"
    assert [json.loads(line)["command"] for line in lines[1:]] == ["getbundle"] * 4


def test_no_target_is_no_log() -> None:
    log = AccessLog("", "text")
    log.add(LINE)
    log.flush()
    assert not log.is_on


def test_a_file_that_cannot_be_opened_is_one_line_and_stderr_instead(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    log = AccessLog(str(tmp_path / "gone" / "access.log"), "text")
    log.add(LINE)
    log.flush()
    (record,) = caplog.records
    assert "gone/access.log: No such file or directory; it goes to stderr" in record.getMessage()
    assert '"GET /a/b" 200' in capfd.readouterr().err


def test_it_is_opened_anew_when_the_turn_moves_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, turns = tmp_path / "logs", [0]
    folder.mkdir()
    file = folder / "access.log"
    log = AccessLog(str(file), "text", lambda: turns[0])

    def add() -> None:
        log.add(LINE)
        log.flush()

    add()
    file.rename(folder / "old")
    add()
    assert len((folder / "old").read_text().splitlines()) == 2
    turns[0] += 1
    add()
    add()
    assert len(file.read_text().splitlines()) == 2
    folder.rename(tmp_path / "gone")
    turns[0] += 1
    add()
    assert '"GET /a/b" 200' in capfd.readouterr().err
    assert len(caplog.records) == 1
    folder.mkdir()
    turns[0] += 1
    add()
    assert len(file.read_text().splitlines()) == 1


def test_what_a_full_disk_lost_is_said_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    log = AccessLog("/dev/full", "text")
    log.add(Line())
    log.close()
    assert [record.getMessage() for record in caplog.records] == [
        "the access log can't be written: No space left on device",
        "1 lines of the access log were dropped: they couldn't go out",
    ]
