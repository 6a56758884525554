"""`hg push` of every kind with clients of every age: what arrives, and what is read at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.hg import Hg
from tests.compat.history import assert_same, bookmarks
from tests.compat.pushing import Target, commit, hosted, make_repository, said
from tests.compat.warm import WARM

Make = Callable[..., Target]

DRAFTS = "[phases]\npublish = no\n"
EVOLUTION = "[experimental]\nevolution = all\n"
FORMS = pytest.mark.parametrize(
    "form", [(), ("devel.legacy.exchange=bundle1",)], ids=["bundle2", "bundle1"]
)


@pytest.fixture
def make(tmp_path: Path, host: Host) -> Iterator[Make]:
    """`make(hgrc)`: a repository that is served; it is looked over at the end."""
    made: list[Target] = []

    def make_one(hgrc: str = "") -> Target:
        made.append(hosted(host, tmp_path, hgrc))
        return made[-1]

    yield make_one
    for target in made:
        target.check()


@FORMS
def test_push_arrives_and_is_read_at_once(hg: Hg, form: tuple[str, ...], make: Make) -> None:
    target = make()
    hg = hg.with_config(*form)
    clone, other = target.clone(hg), target.clone(hg, "other")
    for number in range(3):
        pushed = commit(hg, clone, f"added-{number}")
        told = hg("push", cwd=clone)
        assert b"remote: added 1 changesets with 1 changes to 1 files\n" in told
        assert pushed.startswith(hg("identify", "--id", "-r", "tip", target.url).strip())
        hg("pull", "--quiet", cwd=other)
        assert hg("log", "-r", "tip", "-T", "{node} {phase}", cwd=other) == pushed + b" public"
    assert hg("log", "-r", "not public()", cwd=clone) == b""
    assert_same(WARM, other, target.repository)


@FORMS
def test_push_into_an_empty_repository(
    hg: Hg, form: tuple[str, ...], tmp_path: Path, host: Host
) -> None:
    source, empty = make_repository(tmp_path / "source"), host.folder / tmp_path.name
    WARM("init", empty)
    target = Target(empty, host.server, tmp_path, f"/{empty.name}")
    hg.with_config(*form)("push", target.url, cwd=source)
    assert_same(WARM, empty, source)
    target.check()


@FORMS
def test_push_of_nothing(hg: Hg, form: tuple[str, ...], make: Make) -> None:
    target = make()
    clone = target.clone(hg)
    done = hg.with_config(*form).run("push", cwd=clone, expect=1)
    assert b"no changes found" in said(done)


@FORMS
def test_push_of_a_new_head_and_branch_is_stopped_by_the_client(
    hg: Hg, form: tuple[str, ...], make: Make
) -> None:
    target = make()
    hg = hg.with_config(*form)
    clone = target.clone(hg)
    hg("update", "--quiet", "0", cwd=clone)
    commit(hg, clone, "second head")
    before = target.nodes()
    assert b"push creates new remote head" in said(hg.run("push", cwd=clone, expect=255))
    assert target.nodes() == before
    hg("push", "--force", cwd=clone)
    hg("branch", "--quiet", "gr\u00fcn", cwd=clone)
    commit(hg, clone, "on a branch")
    assert b"push creates new remote branches" in said(hg.run("push", cwd=clone, expect=255))
    hg("push", "--new-branch", cwd=clone)
    assert target.shown("{branch}", "tip").decode() == "gr\u00fcn"
    assert len(target.nodes("heads(all())")) == 2


@FORMS
def test_phases_move(hg: Hg, form: tuple[str, ...], make: Make) -> None:
    """Drafts stay draft on a server that doesn't publish; a later push makes them public."""
    target = make(DRAFTS)
    hg = hg.with_config(*form)
    clone = target.clone(hg)
    commit(hg, clone, "draft")
    secret = commit(hg, clone, "secret", "--secret")
    hg("push", cwd=clone)
    assert target.shown("{desc} {phase}\n", "tip") == b"draft draft\n"
    assert secret not in target.nodes()
    hg("phase", "--public", "-r", "desc(draft)", cwd=clone)
    hg.run("push", cwd=clone, expect=1)  # no changes, but for the phase
    assert target.shown("{desc} {phase}\n", "tip") == b"draft public\n"
    other = target.clone(hg, "other")
    assert hg("log", "-r", "tip", "-T", "{phase}", cwd=other) == b"public"


@FORMS
def test_a_publishing_server_publishes(hg: Hg, form: tuple[str, ...], make: Make) -> None:
    target = make()
    hg = hg.with_config(*form)
    clone = target.clone(hg)
    commit(hg, clone, "draft")
    hg("push", cwd=clone)
    assert target.shown("{phase}", "tip") == b"public"
    assert hg("log", "-r", "tip", "-T", "{phase}", cwd=clone) == b"public"


@FORMS
def test_bookmarks_come_move_and_go(hg: Hg, form: tuple[str, ...], make: Make) -> None:
    target = make()
    hg = hg.with_config(*form)
    clone, name = target.clone(hg), "gr\u00fc\u00df"
    first = hg("log", "-r", ".", "-T", "{node}", cwd=clone)
    hg("bookmark", name, cwd=clone)
    hg.run("push", "-B", name, cwd=clone, expect=1)  # it has no changesets to push
    assert bookmarks(WARM, target.repository) == {name.encode(): first}
    moved = commit(hg, clone, "three")
    hg("push", cwd=clone)
    assert bookmarks(WARM, target.repository) == {name.encode(): moved}
    hg("bookmark", "--delete", name, cwd=clone)
    hg.run("push", "-B", name, cwd=clone, expect=1)
    assert bookmarks(WARM, target.repository) == {}


def test_a_bookmark_that_somebody_else_moved_stays(hg: Hg, make: Make) -> None:
    target = make()
    clone, other = target.clone(hg), target.clone(hg, "other")
    hg("bookmark", "mark", cwd=clone)
    hg.run("push", "-B", "mark", cwd=clone, expect=1)
    hg("pull", "--quiet", "-B", "mark", cwd=other)
    hg("update", "--quiet", "mark", cwd=other)
    theirs = commit(hg, other, "theirs")
    hg("push", "--quiet", cwd=other)
    hg("bookmark", "--force", "-r", "0", "mark", cwd=clone)
    hg.run("push", cwd=clone, expect=1)
    assert bookmarks(WARM, target.repository) == {b"mark": theirs}


def test_obsolescence_markers_travel(hg: Hg, make: Make) -> None:
    target = make(DRAFTS + EVOLUTION)
    hg = hg.with_config("experimental.evolution=all")
    clone, other = target.clone(hg), target.clone(hg, "other")
    old = commit(hg, clone, "before")
    hg("push", "--quiet", cwd=clone)
    hg("pull", "--quiet", cwd=other)
    hg("commit", "--amend", "-m", "after", "-d", "0 0", cwd=clone)
    told = hg("push", cwd=clone)
    assert b"remote: 1 new obsolescence markers\n" in told
    assert b"remote: obsoleted 1 changesets\n" in told
    assert target.shown("{desc}", "tip") == b"after"
    hidden = hg.run("identify", "-r", old, target.url, expect=255)
    assert b"unknown revision '" in said(hidden)
    hg("pull", "--quiet", cwd=other)
    assert hg("log", "-r", "draft()", "-T", "{desc}", cwd=other) == b"after"


def test_push_that_would_leave_an_orphan_is_refused(hg: Hg, make: Make) -> None:
    target = make(DRAFTS + EVOLUTION)
    hg = hg.with_config("experimental.evolution=all")
    clone = target.clone(hg)
    commit(hg, clone, "base")
    commit(hg, clone, "child")
    hg("update", "--quiet", "desc(base)", cwd=clone)
    hg("commit", "--amend", "-m", "new base", "-d", "0 0", cwd=clone)
    before = target.nodes()
    assert b"push includes" in said(hg.run("push", "-r", "desc(child)", cwd=clone, expect=255))
    assert target.nodes() == before


def pushkey(namespace: str, key: str, old: str, new: str) -> str:
    pairs = {"namespace": namespace, "key": key, "old": old, "new": new}
    return ",".join(f"{name}={value}" for name, value in pairs.items())


def test_pushkey_alone_and_in_a_batch(make: Make) -> None:
    target = make()
    node = target.nodes("tip")[0].decode()
    query = f"?cmd=pushkey&namespace=bookmarks&key=alone&old=&new={node}"
    reply = target.request(query, method="POST")
    assert (reply.status, reply.body) == (200, b"1\n")
    calls = [
        "pushkey " + pushkey("bookmarks", "first", "", node),
        "pushkey " + pushkey("bookmarks", "second", "f" * 40, node),  # somebody else was faster
        "listkeys namespace=bookmarks",
        "heads ",
    ]
    body = "cmds=" + ";".join(calls).replace("=", "%3D").replace(";", "%3B").replace(" ", "%20")
    headers = {"X-HgArgs-Post": str(len(body))}
    reply = target.request("?cmd=batch", headers, "POST", body.encode())
    said = reply.body.split(b";")
    assert said[:2] == [b"1\n", b"0\n"]
    assert b"alone\t%s" % node.encode() in said[2]
    assert b"first\t%s" % node.encode() in said[2]
    assert b"second" not in said[2]
    assert said[3] == node.encode() + b"\n"


def test_pushkey_by_get_is_refused(make: Make) -> None:
    target = make()
    query = "?cmd=pushkey&namespace=bookmarks&key=m&old=&new=" + target.nodes("tip")[0].decode()
    assert target.request(query).status == 405
    assert bookmarks(WARM, target.repository) == {}
