from __future__ import annotations

import subprocess
from hashlib import md5
from pathlib import Path

import pytest
from tests.unit.svn.repositories import Core, core

__all__ = ["core"]

POST = b"(create-txn-with-props (svn:log 2 hi))"
MERGE = b'<D:merge xmlns:D="DAV:"><D:source><D:href>/r/!svn/txn/%s</D:href></D:source></D:merge>'


def begin(core: Core) -> bytes:
    got, _ = core.ask("POST", b"/!svn/me", POST, content_type=b"application/vnd.svn-skel")
    assert got.status == 201
    return dict(got.headers)[b"svn-txn-name"]


def commit(core: Core, txn: bytes) -> tuple[int, bytes]:
    got, body = core.ask("MERGE", b"/", MERGE % txn)
    return got.status, body


def cat(core: Core, path: str) -> bytes:
    command = ["svn", "cat", core.disk.as_uri() + path]
    return subprocess.run(command, check=True, capture_output=True).stdout


def test_a_commit_step_by_step(core: Core) -> None:
    txn = begin(core)
    root = b"/!svn/txr/" + txn
    assert core.ask("MKCOL", root + b"/d")[0].status == 201
    assert core.ask("MKCOL", root + b"/d")[0].status == 405
    assert core.ask("PUT", root + b"/d/f", b"text")[0].status == 201
    assert core.ask("PUT", root + b"/d/f", b"text, again")[0].status == 204
    copied, _ = core.ask("COPY", b"/!svn/rvr/1/trunk", destination=b"http://x/r" + root + b"/c")
    assert copied.status == 201
    assert core.ask("DELETE", root + b"/c/a")[0].status == 204
    assert core.ask("DELETE", root + b"/c/a")[0].status == 404
    status, body = commit(core, txn)
    assert status == 200
    assert b"<D:version-name>2</D:version-name>" in body
    assert cat(core, "/d/f") == b"text, again"
    assert commit(core, txn)[0] == 404


FIND = b'<propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>'


def test_a_transaction_says_what_is_there(core: Core) -> None:
    """Who lost an answer learns by it that the transaction still stands."""
    txn = begin(core)
    root = b"/!svn/txr/" + txn
    core.ask("PUT", root + b"/f", b"text")
    for below, status, is_folder in ((b"", 207, True), (b"/trunk", 207, True), (b"/f", 207, False)):
        got, body = core.ask("PROPFIND", root + below, FIND, depth=b"0")
        assert (got.status, b"collection/>" in body) == (status, is_folder)
        assert core.ask("PROPFIND", root + below, b"", depth=b"1")[0].status == 207
    assert core.ask("PROPFIND", root + b"/none", FIND, depth=b"0")[0].status == 404
    commit(core, txn)
    assert core.ask("PROPFIND", root, FIND, depth=b"0")[0].status == 404


def test_nothing_is_left_of_a_commit(core: Core, tmp_path: Path) -> None:
    txn = begin(core)
    core.ask("PUT", b"/!svn/txr/" + txn + b"/f", b"x")
    assert list((tmp_path / "area").rglob("bodies"))
    assert commit(core, txn)[0] == 200
    assert [path for path in (tmp_path / "area").rglob("*") if path.is_file()] == []


def test_an_abort_leaves_nothing(core: Core, tmp_path: Path) -> None:
    txn = begin(core)
    core.ask("PUT", b"/!svn/txr/" + txn + b"/f", b"x")
    assert core.ask("DELETE", b"/!svn/txn/" + txn)[0].status == 204
    assert [path for path in (tmp_path / "area").rglob("*") if path.is_file()] == []
    assert core.ask("PUT", b"/!svn/txr/" + txn + b"/f", b"x")[0].status == 404


def test_checksums_are_held_to(core: Core) -> None:
    root = b"/!svn/txr/" + begin(core)
    wrong = md5(b"other").hexdigest().encode()
    got, body = core.ask("PUT", root + b"/f", b"x", x_svn_result_fulltext_md5=wrong)
    assert got.status == 500
    assert b'errcode="200014"' in body
    right = md5(b"x").hexdigest().encode()
    got, _ = core.ask("PUT", root + b"/f", b"x", x_svn_result_fulltext_md5=right)
    assert (b"x-svn-result-fulltext-md5", right) in got.headers


@pytest.mark.parametrize("body", [b"", b"SVN", b"SVN\x00\xff", b"nonsense", b"SVN\x07\x00"])
def test_svndiff_that_is_none_is_refused(core: Core, body: bytes) -> None:
    root = b"/!svn/txr/" + begin(core)
    kind = b"application/vnd.svn-svndiff"
    got, _ = core.ask("PUT", root + b"/f", body, content_type=kind)
    assert got.status in (201, 400, 500)
    assert got.status != 201 or body in (b"", b"SVN\x00")


def test_a_stale_file_is_told_at_once(core: Core) -> None:
    first = begin(core)
    core.ask("PUT", b"/!svn/txr/" + first + b"/trunk/a", b"two", x_svn_version_name=b"1")
    assert commit(core, first)[0] == 200
    root = b"/!svn/txr/" + begin(core)
    for method in ("PUT", "DELETE"):
        got, body = core.ask(method, root + b"/trunk/a", x_svn_version_name=b"1")
        assert got.status == 409
        assert b'errcode="170004"' in body


def test_commits_that_touch_different_files_both_stand(core: Core) -> None:
    one, two = begin(core), begin(core)
    core.ask("PUT", b"/!svn/txr/" + one + b"/x", b"1")
    core.ask("PUT", b"/!svn/txr/" + two + b"/y", b"2")
    assert [commit(core, one)[0], commit(core, two)[0]] == [200, 200]
    three, four = begin(core), begin(core)
    core.ask("PUT", b"/!svn/txr/" + three + b"/x", b"3")
    core.ask("PUT", b"/!svn/txr/" + four + b"/x", b"4")
    assert commit(core, three)[0] == 200
    status, body = commit(core, four)
    assert status == 409
    assert b'errcode="160024"' in body
    assert cat(core, "/x") == b"3"


def test_another_user_is_refused(core: Core) -> None:
    core.user = b"alice"
    txn = begin(core)
    core.user = b"bob"
    got, body = core.ask("PUT", b"/!svn/txr/" + txn + b"/f", b"x")
    assert got.status == 501
    assert b"Multi-author" in body


def test_names_lead_nowhere_else(core: Core, tmp_path: Path) -> None:
    for name in (b"..", b"%2e%2e", b".x", b"a%2fb", b"x" * 300, b"%00"):
        got, _ = core.ask("PUT", b"/!svn/txr/" + name + b"/f", b"x")
        assert got.status in (400, 404), name


def hook(core: Core, name: str, text: str) -> None:
    path = core.disk / "hooks" / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def test_hooks_speak_once_and_verbatim(core: Core) -> None:
    hook(core, "pre-commit", "echo 'No <way> ü' >&2; exit 1\n")
    txn = begin(core)
    core.ask("PUT", b"/!svn/txr/" + txn + b"/f", b"x")
    status, body = commit(core, txn)
    assert status == 500
    assert b'errcode="165001"' in body
    assert body.count("No &lt;way&gt; ü".encode()) == 1


def test_a_failing_post_commit_hook_is_a_warning(core: Core) -> None:
    hook(core, "post-commit", "echo 'too late' >&2; exit 1\n")
    txn = begin(core)
    core.ask("PUT", b"/!svn/txr/" + txn + b"/f", b"x")
    status, body = commit(core, txn)
    assert status == 200
    assert b"too late" in body
    assert b"post-commit-err" in body
    assert cat(core, "/f") == b"x"


def test_start_commit_runs_once_and_before_anything_is_sent(core: Core, tmp_path: Path) -> None:
    log = tmp_path / "ran"
    hook(core, "start-commit", f'echo "$2 $3" >>{log}\n')
    core.user = b"alice"
    txn = begin(core)
    core.ask("PUT", b"/!svn/txr/" + txn + b"/f", b"x")
    assert commit(core, txn)[0] == 200
    assert log.read_text() == "alice \n"
    hook(core, "start-commit", "echo closed >&2; exit 1\n")
    got, body = core.ask("POST", b"/!svn/me", POST, content_type=b"application/vnd.svn-skel")
    assert got.status == 500
    assert b"closed" in body


def test_a_file_changed_twice_builds_on_what_was_put(core: Core) -> None:
    # svndiff0: one window, no source, 3 bytes of new data
    first = b"SVN\x00" + b"\x00\x00\x03\x01\x03" + b"\x83" + b"abc"
    # one window: source 0..3, target 4: copy 3 from source, 1 new
    second = b"SVN\x00" + b"\x00\x03\x04\x03\x01" + b"\x03\x00\x81" + b"d"
    txn = begin(core)
    path, kind = b"/!svn/txr/" + txn + b"/f", b"application/vnd.svn-svndiff"
    assert core.ask("PUT", path, first, content_type=kind)[0].status == 201
    assert core.ask("PUT", path, second, content_type=kind)[0].status == 204
    assert commit(core, txn)[0] == 200
    assert cat(core, "/f") == b"abcd"
