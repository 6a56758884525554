from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.svn.repositories import Core, core, make_core

__all__ = ["core"]

REPORT = b'<S:%s xmlns:S="svn:">%s</S:%s>'
HIDING = "[/]\n* = rw\n[r:/trunk/a]\n* =\n"


def test_unknown_methods_and_reports_are_refused(core: Core) -> None:
    assert core.ask("BREW", b"/")[0].status == 405
    got, body = core.ask("REPORT", b"/!svn/me", REPORT % (b"no-report", b"", b"no-report"))
    assert got.status == 501
    assert b'errcode="200007"' in body


@pytest.mark.parametrize("name", [b"update-report", b"log-report", b"dated-rev-report", b"x"])
def test_reports_without_what_they_need_are_refused(core: Core, name: bytes) -> None:
    got, body = core.ask(
        "REPORT", b"/!svn/me", REPORT % (name, b"<S:revision>q</S:revision>", name)
    )
    assert got.status in (200, 400, 501), body


def test_ranges(core: Core) -> None:
    path = b"/!svn/rvr/1/trunk/a"
    for header, status, data in (
        (b"bytes=1-2", 206, b"ne"),
        (b"bytes=-2", 206, b"e\n"),
        (b"bytes=1-", 206, b"ne\n"),
        (b"bytes=9-", 416, b""),
        (b"bytes=x", 200, b"one\n"),
        (b"bytes=2-1", 200, b"one\n"),
        (b"lines=1-2", 200, b"one\n"),
    ):
        got, body = core.ask("GET", path, range=header)
        assert (got.status, body) == (status, data), header


def test_etags_spare_a_second_reading(core: Core) -> None:
    got, _ = core.ask("GET", b"/trunk/a")
    mark = dict(got.headers)[b"etag"]
    assert core.ask("GET", b"/trunk/a", if_none_match=mark)[0].status == 304


def test_folders_are_pages_with_a_slash(core: Core) -> None:
    got, _ = core.ask("GET", b"/trunk")
    assert (got.status, dict(got.headers)[b"location"]) == (301, b"/r/trunk/")
    got, body = core.ask("GET", b"/trunk/")
    assert b'href="a"' in body


def test_propfind_of_no_depth_is_refused(core: Core) -> None:
    assert core.ask("PROPFIND", b"/")[0].status == 403
    assert core.ask("PROPFIND", b"/", depth=b"1")[0].status == 207
    assert core.ask("PROPFIND", b"/none", depth=b"0")[0].status == 404


def test_hidden_paths_are_nowhere(tmp_path: Path) -> None:
    for hiding in make_core(tmp_path, HIDING):
        assert hiding.ask("GET", b"/trunk/a")[0].status == 403
        assert hiding.ask("PROPFIND", b"/trunk/a", depth=b"0")[0].status == 403
        assert b"trunk/a" not in hiding.ask("PROPFIND", b"/trunk", depth=b"1")[1]
        assert b">a<" not in hiding.ask("GET", b"/trunk/")[1]
        log = REPORT % (
            b"log-report",
            b"<S:start-revision>1</S:start-revision><S:end-revision>0</S:end-revision>"
            b"<S:discover-changed-paths/>",
            b"log-report",
        )
        got, body = hiding.ask("REPORT", b"/!svn/rvr/1", log)
        assert got.status == 200
        assert b"/trunk" in body
        assert b"/trunk/a" not in body
        update = REPORT % (
            b"update-report",
            b"<S:src-path>/r</S:src-path><S:entry rev='0' start-empty='true'/>",
            b"update-report",
        )
        _, body = hiding.ask("REPORT", b"/!svn/me", update)
        assert b'<S:absent-file name="a"/>' in body


def test_a_broken_access_file_denies(tmp_path: Path) -> None:
    for denied in make_core(tmp_path, "[/\n* = rw\n"):
        for method in ("GET", "OPTIONS", "PROPFIND"):
            assert denied.ask(method, b"/", depth=b"0")[0].status == 403


def test_words_of_the_operating_system_stay_here(core: Core) -> None:
    revision = core.disk / "db" / "revs" / "0" / "1"
    away = revision.with_name("away")
    revision.rename(away)
    revision.mkdir()
    got, body = core.ask("GET", b"/trunk/a")
    revision.rmdir()
    away.rename(revision)
    assert got.status == 500
    assert str(core.disk).encode() not in body
