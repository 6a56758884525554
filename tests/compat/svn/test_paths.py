"""Access by path: what is hidden, is hidden from the same commands as on a stock Apache."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from tests.compat.svn.client import Pair
from tests.compat.svn.conftest import Make

FILL = (
    "svn checkout -q {url} w && cd w && mkdir -p trunk/open trunk/hidden trunk/readonly secret"
    " && for d in trunk/open trunk/hidden trunk/readonly secret; do echo $d >$d/f; done"
    " && echo k >trunk/open/x.key && svn add -q trunk secret && svn commit -q -m first"
    " && svn copy -q secret/f trunk/open/from-secret && svn commit -q -m 'out of the secret'"
    " && echo more >>trunk/hidden/f && svn commit -q -m 'hidden only'"
    " && svn move -q trunk/hidden/f trunk/open/moved && svn commit -q -m 'into the open'"
)


def filled(pair: Make) -> Pair:
    """By file://, where no rules are; and the same on both."""
    both = pair("paths")
    url = both.ours.disk.as_uri()
    subprocess.run(["bash", "-c", FILL.format(url=url)], cwd=both.ours.folder, check=True)
    dump = subprocess.run(
        ["svnadmin", "dump", "-q", str(both.ours.disk)], check=True, capture_output=True
    ).stdout
    load = ["svnadmin", "load", "-q", str(both.stock.disk)]
    subprocess.run(load, input=dump, check=True)
    own = ["chown", "-R", f"--reference={both.stock.disk}", str(both.stock.disk)]
    subprocess.run(own, check=True)
    return both


def test_reading(pair: Make) -> None:
    filled(pair).same(
        "svn checkout $U all; find all -name .svn -prune -o -print | sort",
        "svn update -r1 all; svn update all; svn status -u all",
        "svn ls -R $U",
        "svn ls $U/secret",
        "svn cat $U/trunk/hidden/f@2",
        "svn cat $U/trunk/open/x.key",
        "svn cat $U/trunk/open/moved",
        "svn log -v $U",
        "svn log -v $U/trunk/open/from-secret",
        "svn log $U/secret",
        "svn blame $U/trunk/open/moved",
        "svn info -R $U",
        "svn info $U/secret/f",
        "svn diff -r1:4 $U",
        "svn export $U/trunk out; find out -type f | sort",
        "svn proplist -v -R $U",
        "svn proplist --revprop -v -r1 $U",
        "svn proplist --revprop -v -r3 $U",
        "svnrdump dump $U",
        "svn switch --ignore-ancestry $U/trunk/open all; svn status all",
    )


def test_writing(pair: Make) -> None:
    both = filled(pair)
    both.same(
        "svn mkdir -m in $U/secret/d",
        "svn mkdir -m in $U/trunk/readonly/d",
        "svn mkdir -m in $U/trunk/open/d",
        "svn rm -m rm $U/trunk/readonly",
        "svn rm -m rm $U/trunk",
        "svn copy -m cp $U/secret $U/trunk/open/stolen",
        "svn copy -m cp $U/trunk $U/branch",
        "svn copy -m cp $U/trunk/open/d $U/trunk/readonly/d",
        "svn checkout -q $U/trunk/readonly r && echo x >>r/f && svn commit -m no r",
        "svn checkout -q $U/trunk/open o && echo x >>o/moved && svn commit -m yes o",
    )
    both.wrote()


# No patterns: libsvn takes one for a rule about everything.
PLAIN = """
[/]
* = rw
[r:/secret]
* =
[r:/trunk/hidden]
* =
[r:/b/readonly]
* = r
"""


@pytest.fixture
def plain(pair: Make) -> Iterator[Pair]:
    both = filled(pair)
    file = both.ours.disk.parent.parent / "authz"
    usual = file.read_text()
    file.write_text(PLAIN)
    yield both
    file.write_text(usual)


def test_copies_of_what_holds_something_hidden(plain: Pair) -> None:
    plain.same(
        "svn copy -m whole $U/trunk $U/c",
        "svn copy -m old $U/trunk@2 $U/c",
        "svn copy -m there $U/trunk/open $U/b",
        "svn move -m away $U/trunk $U/c",
        "svn checkout -q $U/trunk x && svn copy x/open x/o && svn commit -m yes x",
        "svn copy -m yes $U/trunk/open $U/c",
        "svn ls -R $U",
    )
    plain.wrote()


def test_a_copy_of_the_root_shows_nothing_hidden(plain: Pair) -> None:
    """Stricter than stock, where it does."""
    command = "svnmucc -m whole -U $U cp 3 '' all && svn cat $U/all/secret/f"
    assert plain.stock.run(command).lines[:1] == ["r5 committed by (no author) at DATE"]
    assert plain.ours.run(command).lines == [
        "svnmucc: E175013: Access to '/REPOSITORY/!svn/rvr/3' forbidden"
    ]
    plain.ours.run("svnmucc -m one -U $U cp 3 trunk/readonly all", expect_ok=True)
