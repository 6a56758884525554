from __future__ import annotations

from dataclasses import replace

from tests.unit.svn.repositories import Core, core

__all__ = ["core"]

LOCK = (
    b'<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype><D:owner>why</D:owner></D:lockinfo>"
)


def token(core: Core, **headers: bytes) -> bytes:
    got, body = core.ask("LOCK", b"/trunk/a", LOCK, **headers)
    assert got.status == 200, body
    return dict(got.headers)[b"lock-token"]


def test_nobody_cant_lock(core: Core) -> None:
    got, body = core.ask("LOCK", b"/trunk/a", LOCK)
    assert (got.status, b'errcode="160034"' in body) == (403, True)
    core.served = replace(core.served, has_logins=True)
    assert core.ask("LOCK", b"/trunk/a", LOCK)[0].status == 401


def test_a_lock_is_held_against_others(core: Core) -> None:
    core.user = b"alice"
    mine = token(core)
    core.user = b"bob"
    got, body = core.ask("LOCK", b"/trunk/a", LOCK)
    assert (got.status, b'errcode="160035"' in body) == (423, True)
    assert core.ask("UNLOCK", b"/trunk/a", lock_token=mine)[0].status == 403
    stolen = token(core, x_svn_options=b"lock-steal")
    assert core.ask("UNLOCK", b"/trunk/a", lock_token=mine)[0].status == 400
    assert core.ask("UNLOCK", b"/trunk/a", lock_token=stolen)[0].status == 204


def test_a_lock_is_told(core: Core) -> None:
    core.user = b"alice"
    mine = token(core, timeout=b"Second-3600").strip(b"<>")
    ask = b'<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>'
    got, body = core.ask("PROPFIND", b"/trunk/a", ask, depth=b"0")
    assert mine in body
    assert b"Second-3" in body
    assert dict(got.headers)[b"x-svn-lock-owner"] == b"alice"
    report = b'<S:get-locks-report xmlns:S="svn:" depth="infinity"/>'
    assert mine in core.ask("REPORT", b"/", report)[1]


def test_a_folder_cant_be_locked(core: Core) -> None:
    core.user = b"alice"
    assert core.ask("LOCK", b"/trunk", LOCK)[0].status == 409
    assert core.ask("LOCK", b"/none", LOCK)[0].status == 405
