from __future__ import annotations

import subprocess
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from tests.unit.svn.dav.test_lock import LOCK
from tests.unit.svn.repositories import Core, core

__all__ = ["core"]

PATCH = (
    b'<D:propertyupdate xmlns:D="DAV:" xmlns:C="http://subversion.tigris.org/xmlns/custom/">'
    b"<D:set><D:prop><C:colour>red</C:colour></D:prop></D:set></D:propertyupdate>"
)


@pytest.fixture
def auto(core: Core) -> Core:
    core.served = replace(core.served, autoversioning=True)
    return core


def look(core: Core, *words: str) -> str:
    command = ["svnlook", *words[:1], str(core.disk), *words[1:]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_each_step_is_a_commit(auto: Core) -> None:
    steps = [
        ("PUT", b"/trunk/new", b"text", {}, 201),
        ("PUT", b"/trunk/new", b"more", {}, 204),
        ("MKCOL", b"/d", b"", {}, 201),
        ("COPY", b"/trunk/new", b"", {"destination": b"http://h/r/d/copy"}, 201),
        ("MOVE", b"/trunk/new", b"", {"destination": b"http://h/r/d/moved"}, 201),
        ("PROPPATCH", b"/d/copy", PATCH, {}, 207),
        ("DELETE", b"/trunk/a", b"", {}, 204),
    ]
    for number, (method, path, body, headers, status) in enumerate(steps, 2):
        got, said = auto.ask(method, path, body, user_agent=b"other", **headers)
        assert got.status == status, (method, said)
        assert look(auto, "youngest").strip() == str(number)
    assert look(auto, "cat", "/d/moved") == "more"
    assert look(auto, "propget", "colour", "/d/copy") == "red"
    assert look(auto, "tree", "--full-paths").split() == ["/", "d/", "d/copy", "d/moved", "trunk/"]
    assert "Autoversioning commit" in look(auto, "log")


def test_a_step_that_cant_be_leaves_nothing(auto: Core) -> None:
    for method, path, status in (
        ("MKCOL", b"/trunk", 405),
        ("DELETE", b"/none", 404),
        ("PUT", b"/none/f", 404),
        ("PUT", b"/trunk", 405),
    ):
        assert auto.ask(method, path)[0].status == status, method
    assert look(auto, "youngest") == "1\n"
    assert auto.served.area.of(auto.served.path, b"x").names() == []


def test_a_lock_makes_the_file_and_guards_it(auto: Core) -> None:
    auto.user = b"alice"
    got, _ = auto.ask("LOCK", b"/trunk/new", LOCK, user_agent=b"other")
    assert got.status == 200
    token = dict(got.headers)[b"lock-token"]
    assert auto.ask("PUT", b"/trunk/new", b"x")[0].status == 423
    assert auto.ask("PUT", b"/trunk/new", b"x", **{"if": b"(" + token + b")"})[0].status == 204
    assert look(auto, "cat", "/trunk/new") == "x"


def test_conditions_must_be_true(auto: Core) -> None:
    """As litmus asks: of locks and tags that are, and that aren't."""
    auto.user = b"alice"
    mark = dict(auto.ask("GET", b"/trunk/a")[0].headers)[b"etag"]
    token = dict(auto.ask("LOCK", b"/trunk/a", LOCK, user_agent=b"other")[0].headers)[b"lock-token"]
    for condition, status in (
        (b"(%s [%s])" % (token, mark), 204),
        (b"(%s)" % token, 204),
        (b"(<DAV:no-lock>) (%s)" % token, 204),
        (b"(Not <DAV:no-lock> %s)" % token, 204),
        (b"<http://h/r/trunk/a> (%s)" % token, 204),
        (b'(%s ["other"])' % token, 412),
        (b"(<DAV:no-lock>)", 412),
        (b"(Not %s) (<DAV:no-lock>)" % token, 412),
        (b"", 423),
    ):
        got, _ = auto.ask("PUT", b"/trunk/a", b"x", **{"if": condition})
        assert got.status == status, condition
    assert auto.ask("PUT", b"/trunk/free", b"x", **{"if": b"(<DAV:no-lock>)"})[0].status == 412


def test_foreign_properties_are_kept_by_their_names(auto: Core) -> None:
    foreign = PATCH.replace(b"http://subversion.tigris.org/xmlns/custom/", b"http://own/")
    assert auto.ask("PROPPATCH", b"/trunk/a", foreign)[0].status == 207
    assert look(auto, "propget", "colour", "/trunk/a") == "red"
    live = PATCH.replace(b"http://subversion.tigris.org/xmlns/custom/", b"DAV:")
    assert auto.ask("PROPPATCH", b"/trunk/a", live)[0].status == 409


def test_a_property_of_no_namespace_is_told_in_sound_xml(core: Core) -> None:
    asked = b'<D:propfind xmlns:D="DAV:"><D:prop><bare xmlns=""/></D:prop></D:propfind>'
    got, body = core.ask("PROPFIND", b"/trunk/a", asked, depth=b"0")
    assert got.status == 207
    assert b"<bare" in body
    ElementTree.fromstring(body)


def test_nothing_is_written_without_it(core: Core) -> None:
    for method in ("PUT", "MKCOL", "DELETE", "PROPPATCH"):
        got, _ = core.ask(method, b"/trunk/a", PATCH if method == "PROPPATCH" else b"")
        assert got.status == 405, method
    assert look(core, "youngest") == "1\n"
