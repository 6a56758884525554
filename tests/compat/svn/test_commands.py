"""Everyday work of a stock `svn`: the same words, trees and revisions as from a stock Apache."""

from __future__ import annotations

import pytest
from tests.compat.svn.client import Pair
from tests.compat.svn.conftest import Make

VERSIONS = pytest.mark.parametrize("version", ["v2", "v1"])

ODD_NAMES = r"""a%20b 100% #1 ü u\xcc\x88 a+b a&b a<b> a\"b a'b a;b=? a:b @at ~t [x] {y} a\\b"""

GROW = (
    "svn checkout $U wc",
    "cd wc && mkdir trunk branches tags 'trunk/sp ace' && echo one >trunk/a && : >trunk/empty"
    " && printf 'x\\r\\ny' >trunk/crlf && head -c 200000 /dev/zero >trunk/big"
    " && svn add --no-auto-props trunk branches tags && svn propset svn:eol-style native trunk/a"
    " && svn propset x:y:z 'v <&>' trunk && printf 'a\\001b\\377' >../binary"
    " && svn propset binary -F ../binary trunk/a && svn commit -m 'first ü <&>'",
    "cd wc && svn update && echo two >>trunk/a && svn commit -m edit",
    "svn copy $U/trunk $U/branches/b -m copy",
    "cd wc && svn update && echo three >>branches/b/a && svn commit -m 'on the branch'",
    "cd wc && svn move trunk/empty trunk/moved && svn rm trunk/crlf && svn commit -m move",
)
READ = (
    "svn ls -R -v $U",
    "svn ls -R --search 'm*' $U",
    "svn ls $U/trunk@1",
    "svn ls $U/none",
    "svn ls $U@99",
    "svn log -v $U",
    "svn log -v --xml --with-all-revprops $U | tr -d '\\n' | sed 's/<path /\\n<path /g' | wc -l",
    "svn log -v -r1:HEAD -l2 $U/trunk/moved",
    "svn log --stop-on-copy $U/branches/b",
    "svn log -r '{2001-01-01}:HEAD' $U",
    "svn log $U/trunk/empty",
    "svn log $U/trunk/empty@3",
    "svn cat $U/trunk/a",
    "svn cat -r1 $U/trunk/moved",
    "svn cat $U/trunk/big | md5sum",
    "svn cat $U/none",
    "svn info -R $U",
    "svn info $U/none",
    "svn proplist -v -R $U/trunk",
    "svn proplist -v --revprop -r1 $U",
    "svn propget binary $U/trunk/a | od -c",
    "svn propget x:y:z --show-inherited-props $U/trunk/a",
    "svn blame -v $U/branches/b/a",
    "svn blame -g $U/branches/b/a",
    "svn diff -r1:HEAD $U",
    "svn diff --summarize -r1:HEAD $U",
    "svn diff $U/trunk $U/branches/b",
    "svn diff --old $U/trunk --new $U/branches/b a",
    "svn mergeinfo --show-revs eligible $U/branches/b $U/trunk",
    "svn export $U exported && cd exported && find . -type f -print0 | xargs -0 md5sum",
    "svn export $U/trunk/a one-file && cat one-file",
    "svnrdump dump $U 2>/dev/null",
)
WORKING_COPIES = (
    "svn checkout --depth files $U/trunk d && svn update --set-depth immediates d"
    " && svn update --set-depth infinity d && svn update --set-depth empty d",
    "svn checkout -r1 $U/trunk old && svn status -u -v old && svn update -r2 old/a"
    " && svn update old && svn status -v old",
    "svn switch --ignore-ancestry $U/branches/b old && svn status -v old"
    " && svn update -r3 old && svn diff -r1 old && svn update old",
    "svn checkout $U/trunk m && svn merge $U/branches/b m && svn diff m && svn commit -m merge m",
    "svn update m && svn mergeinfo $U/branches/b m && svn log -g -v $U/trunk && svn blame -g m/a",
    "svn checkout $U/trunk/none nowhere",
)
BULK = ("yes", "no")


def grown(pair: Make, version: str) -> Pair:
    both = pair(version)
    both.same(*GROW)
    return both


@VERSIONS
def test_reads_and_writes_say_the_same(pair: Make, version: str) -> None:
    both = grown(pair, version)
    both.same(*READ)
    both.same(*WORKING_COPIES)
    both.wrote()


@pytest.mark.parametrize("bulk", BULK)
def test_checkout_and_update_by_report_or_by_file(pair: Make, bulk: str) -> None:
    both = grown(pair, "v2")
    option = f"--config-option servers:global:http-bulk-updates={bulk}"
    both.same(
        f"svn checkout {option} -r1 $U all && svn proplist -v -R all && svn status -v all",
        f"svn update {option} all && svn proplist -v -R all && svn status -v all",
        "cd all && find . -name .svn -prune -o -type f -print0 | xargs -0 md5sum",
    )


@VERSIONS
def test_odd_names_and_values(pair: Make, version: str) -> None:
    both = pair(version)
    make = " && ".join(
        f"echo {number} >\"$(printf '%b' '{name}')\"" if "'" not in name else f'echo x >"{name}"'
        for number, name in enumerate(ODD_NAMES.replace('\\"', '"').split())
    )
    both.same(
        "svn checkout $U wc",
        f"mkdir wc/d && cd wc/d && {make} && cd .. && svn add d && svn commit -m names",
        "svn ls -R $U",
        "svn export $U out && cd out/d && cat -- *",
        'cd wc && svn update && for f in d/*; do svn propset p v "$f@"; done'
        ' && svn commit -m props && for f in d/*; do echo y >>"$f"; done && svn commit -m edits',
        "cd wc && svn update && svn rm d/* ; svn status",
        "cd wc && svn commit -m gone && svn ls -R $U && svn log -v $U",
    )
    both.wrote()


@VERSIONS
def test_conflicts_and_stale_copies_are_refused_alike(pair: Make, version: str) -> None:
    both = grown(pair, version)
    both.same(
        "svn checkout $U other",
        "cd wc && svn update && echo mine >>trunk/a && svn commit -m mine",
        "cd other && echo theirs >>trunk/a && svn commit -m theirs",
        "cd other && svn propset q 1 trunk && svn commit -m 'stale folder'",
        "cd other && svn update --accept theirs-full && svn commit -m again",
        "cd wc && svn update && svn rm trunk/a && svn commit -m gone",
        "cd other && svn revert -R . && echo lost >>trunk/a && svn commit -m lost",
        "cd other && svn revert -R . && svn update && mkdir new && svn add new",
        "cd wc && mkdir new && svn add new && svn commit -m 'new here'",
        "cd other && svn commit -m 'new there'",
        "svn mkdir $U/new -m again",
        "svn mkdir $U/not/there -m deep",
        "svn rm $U/none -m none",
        "svn copy -r1 $U/none $U/x -m none",
        "svn copy $U/trunk@99 $U/x -m future",
        "svn move $U/trunk/big $U/branches -m moved && svn ls -R $U",
    )
    both.wrote()


@VERSIONS
def test_replaced_and_copied_from_old_revisions(pair: Make, version: str) -> None:
    both = grown(pair, version)
    both.same(
        "cd wc && svn update && svn rm trunk/a && echo new >trunk/a && svn add trunk/a"
        " && svn copy -r1 trunk/big trunk/old && echo more >>trunk/old"
        " && svn rm 'trunk/sp ace' && mkdir 'trunk/sp ace' && svn add 'trunk/sp ace'"
        " && echo q >'trunk/sp ace/q' && svn add 'trunk/sp ace/q' && svn commit -m mixed",
        "svn copy $U/trunk@1 $U/tags/t1 -m tag && svn copy $U/tags/t1/crlf $U/trunk/crlf -m back",
        "cd wc && svn update && svn copy trunk branches/c && svn rm branches/c/big"
        " && echo z >>branches/c/a && svn mkdir branches/c/n && svn commit -m 'a copy, changed'",
        "svn log -v -g $U && svn ls -R $U",
    )
    both.wrote()


@VERSIONS
def test_many_steps_in_one_commit(pair: Make, version: str) -> None:
    both = grown(pair, version)
    both.same(
        "echo text >t && svnmucc -m steps -U $U mkdir m put t m/x put t m/y rm m/y cp 2 trunk m/t"
        " propset a b m/t rm m/t/a mv trunk/big m/big put t branches/b/a",
        "svnmucc -m twice -U $U put t m/z && svnmucc -m none -U $U rm m/none",
        "svn import -m import wc/trunk $U/imported && svn ls -R $U && svn log -v -rHEAD $U",
    )
    both.wrote()


@VERSIONS
def test_revision_properties(pair: Make, version: str) -> None:
    both = grown(pair, version)
    both.same(
        "svn propset --revprop -r1 svn:log 'new words ü' $U && svn log -r1 $U",
        "svn propset --revprop -r2 own value $U && svn propget --revprop -r2 own $U",
        "svn propdel --revprop -r2 own $U && svn proplist -v --revprop -r2 $U",
        "svn propset --revprop -r99 own value $U",
        "svn mkdir --with-revprop k=v -m 'with more' $U/w && svn proplist -v --revprop -rHEAD $U",
    )
    both.wrote()


MIRROR = (
    "svnadmin create mirror && printf '#!/bin/sh\\n' >mirror/hooks/pre-revprop-change"
    " && chmod +x mirror/hooks/pre-revprop-change && svnsync init -q file://$PWD/mirror $U"
    " && svnsync sync -q file://$PWD/mirror && svnadmin dump -q -r1:HEAD mirror | grep -av ^UUID"
)


def test_mirror_by_svnsync(pair: Make) -> None:
    grown(pair, "v2").same(MIRROR)


def test_load_by_svnrdump(pair: Make) -> None:
    both = pair("v2")
    both.same(
        "svnadmin create from && svn checkout -q file://$PWD/from f && cd f && mkdir a"
        " && echo 1 >a/b && svn add -q a && svn commit -q -m one && svn copy -q a c && echo 2 >>c/b"
        " && svn propset -q p v c && svn commit -q -m two && cd .. && svnadmin dump -q from >dump",
        "svnrdump load -q $U <dump; svn log -v $U; svn ls -R $U",
    )
    both.wrote()


FORMATS = pytest.mark.parametrize(
    "options", [("--compatible-version", version) for version in ("1.6", "1.8", "1.9")]
)


@FORMATS
def test_older_formats_and_packed_ones(pair: Make, options: tuple[str, ...]) -> None:
    both = pair("v2", *options)
    for site in (both.stock, both.ours):
        form = site.disk / "db" / "format"
        form.write_text(form.read_text().replace("sharded 1000", "sharded 2"))
    both.same(*GROW)
    for site in (both.stock, both.ours):
        site.run(f"svnadmin pack -q {site.disk}", expect_ok=True)
    both.same(
        "svn checkout -q $U p && svn log -v $U && svn ls -R -v $U && svn blame $U/branches/b/a"
    )
    both.same("cd p && echo more >>trunk/a && svn commit -m 'after packing' && svn cat $U/trunk/a")
    both.wrote()
