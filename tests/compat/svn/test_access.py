"""A stock `svn` that must log in: how it is asked, what it is told, and whose its commits are."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import bcrypt
import pytest
from tests.compat.serving import Serving, serving
from tests.compat.svn.client import Site
from tests.unit.svn.wide import make_wide

SETTINGS = """\
[subversion]
transactions = "state"
access_file = "authz"
[auth]
password_file = "htpasswd"
realm = "Our code"
[[access]]
repositories = ["private"]
read = []
write = ["alice"]
[[access]]
write = ["alice", "bob"]
"""
AUTHZ = """\
[groups]
staff = alice, bob
[/]
* = r
@staff = rw
[open:/alice]
@staff = r
alice = rw
[open:/secret]
* =
alice = rw
"""
MANY = 2000  # locks: their tokens are more than a request's head may hold
NAMES = ("open", "private")
ALICE = "--non-interactive --no-auth-cache --username alice --password 'sec ret'"
BOB = "--non-interactive --no-auth-cache --username bob --password other"
ASKED = "E215004: "  # for a password, and had none that is right
NOBODY = "--non-interactive --no-auth-cache"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("svn-access")
    (folder / "repos").mkdir()
    for name in NAMES:
        subprocess.run(["svnadmin", "create", folder / "repos" / name], check=True)
    make_wide(folder / "repos" / "wide", 1, MANY)
    hashed = {
        user: bcrypt.hashpw(word, bcrypt.gensalt(4)).decode()
        for user, word in (("alice", b"sec ret"), ("bob", b"other"))
    }
    (folder / "htpasswd").write_text("".join(f"{user}:{text}\n" for user, text in hashed.items()))
    (folder / "authz").write_text(AUTHZ)
    (folder / "s.toml").write_text(SETTINGS)
    options = ("--settings", str(folder / "s.toml"))
    with serving(folder / "repos", folder / "server", *options) as running:
        yield running


@pytest.fixture
def site(server: Serving, tmp_path: Path) -> Site:
    return Site(server.url, Path(), tmp_path / "at")


def says(site: Site, command: str, *words: str) -> None:
    """It fails, with these words."""
    said = site.run(command)
    assert said.status != 0
    text = "\n".join(said.lines)
    assert all(word in text for word in words), text


def test_commits_are_their_users(site: Site) -> None:
    for user, options in (("alice", ALICE), ("bob", BOB)):
        done = site.run(
            f"svn mkdir -q {options} -m m $U/open/by-{user}"
            f" && svn checkout -q {NOBODY} $U/open {user} && cd {user}"
            f" && echo text >by-{user}/f && svn add -q by-{user}/f"
            f" && svn commit -q {options} -m m && svn lock {options} $U/open/by-{user}/f"
            f" && svn info --show-item last-changed-author {NOBODY} $U/open/by-{user}"
            f" && svn info {NOBODY} $U/open/by-{user}/f",
            expect_ok=True,
        )
        assert user in done.lines
        assert f"Lock Owner: {user}" in done.lines
    log = site.run(f"svn log -q {NOBODY} $U/open", expect_ok=True).lines
    assert sum("| alice |" in line for line in log) == sum("| bob |" in line for line in log) == 2


def test_writing_asks_for_a_password(site: Site) -> None:
    for options in (NOBODY, ALICE.replace("sec", "bad")):
        says(site, f"svn mkdir {options} -m m $U/open/x", ASKED)
    says(site, f"svn ls {NOBODY} $U/open/x", "E200009")


def test_rules_decide_who_reads(site: Site) -> None:
    says(site, f"svn checkout {NOBODY} $U/private", ASKED)
    says(site, f"svn checkout {BOB} $U/private", "E175013: read not authorized")
    says(site, f"svn checkout {BOB} $U/private/trunk/x", "E175013: read not authorized")
    site.run(f"svn mkdir -q {ALICE} -m m $U/private/d && svn ls {ALICE} $U/private", expect_ok=True)
    says(site, f"svn ls {ALICE} $U/none", "Could not find the requested SVN filesystem")


def test_access_file_is_evaluated_for_the_user(site: Site) -> None:
    site.run(f"svn mkdir -q {ALICE} -m m $U/open/alice $U/open/secret", expect_ok=True)
    says(site, f"svn mkdir {BOB} -m m $U/open/alice/x", "E175013")
    site.run(f"svn mkdir -q {ALICE} -m m $U/open/alice/x", expect_ok=True)
    site.run(f"svn ls {ALICE} $U/open/secret", expect_ok=True)
    says(site, f"svn ls {BOB} $U/open/secret", "E175013", "forbidden")
    says(site, f"svn ls {NOBODY} $U/open/secret", ASKED)


def test_list_of_repositories_has_what_its_reader_may_read(server: Serving) -> None:
    secret = b"Basic " + b64encode(b"alice:sec ret")
    for headers, names in (({}, {"open"}), ({"Authorization": secret.decode()}, set(NAMES))):
        with urlopen(Request(server.url, headers=headers)) as reply:
            page = reply.read().decode()
        assert {name for name in NAMES if f'href="{name}/"' in page} == names


def test_locks_are_held_stolen_and_go_with_their_folder(site: Site) -> None:
    """Few: where reading is free, `svn` is asked for a password by each LOCK that it has sent, and
    soon gives up; from an Apache, too.
    """
    alice, bob = f"svn {{}} {ALICE}", f"svn {{}} {BOB}"
    url = "$U/open"
    make = "mkdir w/locked && cd w/locked && for i in 1 2; do echo $i >f$i; done"
    site.run(f"{alice.format('checkout -q')} {url} w && {make} && svn add -q ../locked", True)
    site.run(
        f"cd w && {alice.format('commit -q -m add')} && {alice.format('lock -q')} locked/*", True
    )
    says(site, f"{bob.format('rm -m no')} {url}/locked", "E160039: User 'bob' does not own lock")
    says(
        site,
        f"{bob.format('lock')} {url}/locked/f1",
        "W160035: ",
        "is already locked by user 'alice'",
    )
    site.run(f"{bob.format('lock --force -m mine')} {url}/locked/f1", True)
    says(site, f"cd w && echo x >>locked/f1 && {alice.format('commit -m x')}", "E195022")
    site.run(
        f"{alice.format('unlock --force')} {url}/locked/f1 && cd w && svn revert -q locked/f1", True
    )
    site.run(f"cd w && {alice.format('update -q')} && svn rm -q locked", True)
    site.run(f"cd w && {alice.format('commit -m gone')}", True)
    left = site.run(f"{alice.format('status -u')} w && {alice.format('ls')} {url}", True)
    assert not [line for line in left.lines if "locked" in line or " K " in line]


def test_many_locks_under_a_deleted_folder(server: Serving, site: Site) -> None:
    """Made by file://, where they are made at once."""
    disk = server.log_path.parent.parent / "repos" / "wide"
    site.run(
        f"svn checkout -q file://{disk} wc && svn lock -q --username alice wc/d0/*"
        f" && cd wc && svn relocate file://{disk} $U/wide {ALICE}",
        expect_ok=True,
    )
    assert lines_of("svnadmin", "lslocks", str(disk)).count("UUID Token") == MANY
    says(site, f"svn rm -m no $U/wide/d0 {BOB}", "E160039")
    says(site, f"svn rm -m no $U/wide/d0 {ALICE}", "E160037")
    site.run(f"svn rm -q --force wc/d0 && svn commit -q -m yes wc {ALICE}", expect_ok=True)
    assert lines_of("svnadmin", "lslocks", str(disk)) == ""
    assert lines_of("svn", "ls", f"file://{disk}") == ""


def lines_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
