"""Every kind of commit through the gateway, to both kinds of upstream: as if sent directly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.svn.around import Around, Yard
from tests.compat.svn.test_commands import GROW, ODD_NAMES

CHECK_OUT = "svn checkout -q $U other"


@pytest.fixture
def around(gateway_yard: Yard, tmp_path: Path) -> Iterator[Around]:
    with gateway_yard.around(tmp_path) as made:
        yield made


@pytest.fixture
def grown(around: Around) -> Around:
    around.same(*GROW)
    return around


def test_adds_edits_moves_copies_and_replacements(grown: Around) -> None:
    grown.same(
        "cd wc && svn update -q && svn rm -q trunk/a && echo new >trunk/a && svn add -q trunk/a"
        " && svn copy -q -r1 trunk/big trunk/old && echo more >>trunk/old"
        " && svn rm -q 'trunk/sp ace' && mkdir 'trunk/sp ace' && svn add -q 'trunk/sp ace'"
        " && echo q >'trunk/sp ace/q' && svn add -q 'trunk/sp ace/q' && svn commit -m mixed",
        "svn copy $U/trunk@1 $U/tags/t1 -m tag && svn copy $U/tags/t1/crlf $U/trunk/crlf -m back",
        "cd wc && svn update -q && svn copy -q trunk branches/c && svn rm -q branches/c/big"
        " && echo z >>branches/c/a && svn mkdir branches/c/n && svn commit -m 'a copy, changed'",
        "echo text >t && svnmucc -m steps -U $U mkdir m put t m/x put t m/y rm m/y cp 2 trunk m/t"
        " propset a b m/t rm m/t/a mv trunk/big m/big put t branches/b/a",
        "svnmucc -m twice -U $U put t m/z; svnmucc -m none -U $U rm m/none",
        "svn import -m import wc/trunk $U/imported && svn log -v -rHEAD $U",
        "svn mkdir --with-revprop k=v -m 'with more' $U/w && svn proplist -v --revprop -rHEAD $U",
        "cd wc && svn update -q && svn merge -q $U/branches/b trunk; svn commit -m merge;"
        " svn status -u && svn ls -R $U",
    )
    grown.wrote()


def test_odd_names_and_binary_properties(around: Around) -> None:
    names = ODD_NAMES.replace('\\"', '"').split()
    make = " && ".join(
        f"echo {number} >\"$(printf '%b' '{name}')\"" if "'" not in name else f'echo x >"{name}"'
        for number, name in enumerate(names)
    )
    around.same(
        "svn checkout -q $U wc && printf 'a\\001b\\377' >binary",
        f"mkdir wc/d && cd wc/d && {make} && cd .. && svn add -q d && svn commit -m names",
        "cd wc && svn update -q && svn propset -q binary -F ../binary d && files=(d/*)"
        ' && svn propset -q p "<&>" "${files[@]/%/@}" && for f in d/*; do echo y >>"$f"; done'
        " && svn commit -m props",
        "cd wc && svn update -q && svn propdel -q binary d && svn rm -q d/@at@; svn commit -m less",
        "svn ls -R $U && svn proplist -v -R $U && svn log -v $U",
    )
    around.wrote()


def test_what_is_out_of_date_or_in_the_way(grown: Around) -> None:
    grown.same(
        CHECK_OUT,
        "cd wc && svn update -q && echo mine >>trunk/a && svn commit -q -m mine",
        "cd other && echo theirs >>trunk/a && svn commit -m theirs",
        "cd other && svn propset q 1 trunk && svn commit -m 'stale folder'",
        "cd other && svn update -q --accept theirs-full && svn commit -m again",
        "cd wc && svn update -q && svn rm -q trunk/a && svn commit -q -m gone",
        "cd other && svn revert -q -R . && echo lost >>trunk/a && svn commit -m lost",
        "cd other && svn revert -q -R . && svn rm -q trunk/a && svn commit -m 'gone already'",
        "cd other && svn revert -qR . && svn update -q && mkdir new && echo 1 >n && svn add n new",
        "cd wc && mkdir new && echo 2 >n && svn add -q new n && svn commit -q -m 'new here'",
        "cd other && svn commit -m 'new file there' n",
        "cd other && svn commit -m 'new folder there' new",
        "svn mkdir $U/new -m again",
        "svn mkdir $U/not/there -m deep",
        "svn copy $U/trunk $U/branches/b/none/x -m deep",
        "svn copy $U/trunk@99 $U/x -m future",
    )
    grown.wrote()


def test_locks_and_their_tokens(grown: Around) -> None:
    grown.same(
        CHECK_OUT,
        "cd wc && svn update -q && svn lock trunk/a trunk/big && svn lock $U/trunk/moved",
        "cd other && W=bob svn lock trunk/a",
        "cd other && echo bob >>trunk/a && W=bob svn commit -m 'not his'",
        "cd other && svn revert -q trunk/a && W=bob svn rm -q trunk/big && W=bob svn commit -m rm",
        "cd wc && echo alice >>trunk/a && svn commit -m 'hers' && svn info trunk/a | grep Lock",
        "cd wc && svn lock trunk/a && echo kept >>trunk/a && svn commit --no-unlock -m kept"
        " && svn info trunk/a $U/trunk/a | grep -c 'Lock Token'",
        "svn unlock $U/trunk/moved; W=bob svn rm $U/trunk -m 'all of it'",
        "W=bob svn lock --force $U/trunk/a",
        "cd wc && echo stolen >>trunk/a && svn commit -m 'no more hers'",
        "cd wc && svn update -q && svn rm -q --force trunk/big && svn commit -m 'gone with it'",
        "cd wc && svn revert -q trunk/a; svn unlock --force $U/trunk/a && svn info $U/trunk/a",
    )
    grown.wrote()


HOOKS = (
    ("start-commit", "echo 'not even begun <&>' >&2; exit 1"),
    ("pre-commit", "echo 'not these words <&>' >&2; exit 1"),
    ("post-commit", "echo 'committed, but' >&2; exit 1"),
)


def test_what_hooks_say(around: Around) -> None:
    """Of each; and who lost a commit has the next."""
    around.same("svn checkout -q $U wc && cd wc && echo 1 >f && svn add -q f")
    for name, text in HOOKS:
        for site in (around.direct, *around.through.values()):
            path = site.disk / "hooks" / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        around.same(
            "cd wc && svn commit -m hooked; done=$?; echo more >>f; exit $done", "svn log -q $U"
        )
        for site in (around.direct, *around.through.values()):
            (site.disk / "hooks" / name).unlink()
    around.same("cd wc && svn commit -m 'without a hook' && svn log -q $U")
    around.wrote()
