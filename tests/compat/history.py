"""What a repository holds, as text that two repositories can be compared by."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from tests.compat.hg import Hg
from tests.compat.warm import WARM

# Revision numbers are a repository's own; the hash after them isn't.
NUMBERS = re.compile(rb"^(changeset|parent|manifest): +-?\d+:", re.MULTILINE)
SEPARATOR = b"\n\n\n"
# A publishing server makes public on the client what may be draft at its own end.
PUBLISHED = (b"phase",)


def history(
    hg: Hg, repository: Path, revset: str = "all()", without: Collection[bytes] = ()
) -> list[bytes]:
    """`hg log --debug` of each changeset, sorted, revision numbers and `tag: tip` left out.

    `without` names lines to leave out where the two sides rightly differ: b"phase", b"bookmark";
    or a whole line: b"tag: +local-tag".
    """
    log = hg("log", "--debug", "--rev", revset, cwd=repository)
    log = re.sub(rb"^tag: +tip\n", b"", log, flags=re.MULTILINE)
    for name in without:
        log = re.sub(rb"^%s(: .*)?\n" % name, b"", log, flags=re.MULTILINE)
    return sorted(NUMBERS.sub(rb"\1: ", log).split(SEPARATOR))


def numbered_history(hg: Hg, repository: Path, without: Collection[bytes] = ()) -> bytes:
    """`hg log --debug` as it is, revision numbers and order too."""
    log = hg("log", "--debug", "--rev", "all()", cwd=repository)
    for name in without:
        log = re.sub(rb"^%s(: .*)?\n" % name, b"", log, flags=re.MULTILINE)
    return log


def verify(hg: Hg, repository: Path) -> None:
    """`hg verify` finds nothing to say."""
    said = hg.run("verify", "--quiet", cwd=repository)
    assert said.out + said.err == b"", (said.out + said.err).decode(errors="replace")


def nodes(hg: Hg, repository: Path, revset: str = "all()", hidden: bool = False) -> list[str]:
    """Full hashes, in revision order."""
    options = ["--hidden"] if hidden else []
    out = hg("log", *options, "--rev", revset, "--template", "{node}\n", cwd=repository)
    return out.decode().split()


def phases(hg: Hg, repository: Path) -> dict[str, str]:
    out = hg("log", "--rev", "all()", "--template", "{node} {phase}\n", cwd=repository)
    return dict(line.split() for line in out.decode().splitlines())


def bookmarks(hg: Hg, repository: Path) -> dict[bytes, bytes]:
    out = hg("bookmarks", "--template", "{node} {bookmark}\n", cwd=repository)
    if out.startswith(b"no bookmarks set"):
        return {}
    return {line.split(b" ", 1)[1]: line.split(b" ", 1)[0] for line in out.splitlines()}


def assert_same(
    hg: Hg, clone: Path, source: Path, revset: str = "all()", without: Collection[bytes] = ()
) -> None:
    """The clone is sound, and its history is the source's (of `revset`) by `hg log --debug`."""
    verify(hg, clone)
    ours = history(hg, clone, without=without)
    theirs = history(WARM, source, revset, without)
    assert ours == theirs, first_difference(ours, theirs)


def first_difference(ours: list[bytes], theirs: list[bytes]) -> bytes:
    for mine, other in zip(ours, theirs, strict=False):
        if mine != other:
            return b"clone:\n%s\nsource:\n%s" % (mine, other)
    return b"%d changesets in the clone, %d in the source" % (len(ours), len(theirs))
