"""The repositories that clients clone, each made once a run by the installed Mercurial."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from tests.compat.hg import Hg, Session
from tests.compat.warm import WARM

Source = Callable[[str], Path]
Builder = Callable[[Path, Source], None]

BUILDERS: dict[str, Builder] = {}

HEADS = 2000
BIG_BYTES = 100_000_000
EVOLVING = WARM.with_config("experimental.evolution=all", "extensions.rebase=")


def builder(build: Builder) -> Builder:
    """Make `build(target, source)` known by its name; `source` gives another repository's path."""
    BUILDERS[build.__name__] = build
    return build


def fresh(hg: Hg, target: Path, *options: str) -> Session:
    hg("init", *options, target)
    return hg.session(target)


@builder
def empty(target: Path, source: Source) -> None:
    WARM("init", target)


@builder
def seed(target: Path, source: Source) -> None:
    """The server of the first seed's transcript: one changeset, e93700bd7289."""
    WARM("init", target)
    (target / "a").touch()
    WARM("commit", "--quiet", "--addremove", "--message", "initial", cwd=target)


# Names that the store has to encode, and bytes that are no valid UTF-8.
NAMES = (
    b"plain.txt",
    b"UPPER/Case.TXT",
    b"gr\xc3\xb6\xc3\x9fe/\xe6\x96\x87\xe4\xbb\xb6.txt",
    b"latin1-\xe9t\xe9",
    b"aux.h",
    b"con/prn.txt",
    b"trailing dot./and space /x",
    b" leading.space",
    b"tilde~name_under_score",
    b"data/inner.i",
    b"dir.i/file.d",
    b"dir.hg/file",
    b"quote\"d 'n' $HOME",
    b"percent%41%2f",
    b"deep/" + b"/".join(b"folder-%02d" % level for level in range(20)) + b"/leaf",
    b"long/" + b"x" * 120 + b"/" + b"Y" * 120 + b".txt",
)


@builder
def rich(target: Path, source: Source) -> None:
    """A bit of everything that a published repository holds; no secret, nothing obsolete."""
    noise = random.Random(2)
    with fresh(WARM, target) as hg:
        for name in NAMES:
            hg.write(name, b"first line of " + name + b"\n")
        hg.write("empty", b"")
        hg.write("no-newline", b"no newline at the end")
        hg.write("binary", bytes(range(256)) * 8)
        hg.write("metadata-like", b"\1\nlooks: like copy metadata\n\1\nbut is text\n")
        hg.commit("base\n\nwith a second paragraph, a tab\tand a gr\u00fc\u00df")
        _links_and_modes(target, hg)
        _growing_files(hg, noise)
        _branches_and_merges(hg)
        _renames(hg)
        _tags(hg)
        _bookmarks(hg)
        hg("update", "--clean", "default")


def _links_and_modes(target: Path, hg: Session) -> None:
    os.symlink("plain.txt", target / "link")
    hg.write("run.sh", b"#!/bin/sh\n").chmod(0o755)
    hg.commit("a link and an executable", "--user", "Ann \u00c5 <ann@example.org>")
    (target / "run.sh").chmod(0o644)
    (target / "link").unlink()
    hg.write("link", b"a file now\n")
    hg.commit("no longer", "--date", "1700000000 -19800")


def _growing_files(hg: Session, noise: random.Random) -> None:
    """Delta chains, a file that leaves its inline revlog, full texts between deltas."""
    lines = [b"%d %s\n" % (number, noise.randbytes(20).hex().encode()) for number in range(400)]
    for step in range(25):
        place = noise.randrange(len(lines))
        lines[place : place + 3] = [b"step %d %d\n" % (step, noise.randrange(10**9))]
        hg.write("growing", b"".join(lines))
        hg.write("blob", noise.randbytes(60_000))
        hg.commit(f"step {step}", "--date", f"{1000 * step} 0")
    hg.write("growing", noise.randbytes(90_000))
    hg.commit("replaced altogether")
    hg("remove", "blob")
    hg.commit("removed")


def _branches_and_merges(hg: Session) -> None:
    hg("update", "3")
    hg("branch", "stable")
    hg.write("stable.txt", b"one\n")
    hg.commit("open stable")
    hg.write("stable.txt", b"one\ntwo\n")
    hg.commit("more on stable")
    hg("update", "default")
    hg("merge", "stable")
    hg.commit("merge stable")
    hg("branch", "gr\u00f6\u00dfe/\u6587")
    hg.commit("a branch with another alphabet, no file changed")
    hg("update", "stable")
    hg("branch", "closed one")
    hg.write("closed.txt", b"x\n")
    hg.commit("to be closed")
    hg.commit("closed", "--close-branch")
    hg("update", "stable")
    hg.write("fix", b"fix\n")
    hg.commit("fix on stable")
    hg("update", "default")
    hg("graft", "stable")
    hg("update", "stable")
    hg.commit("close stable", "--close-branch")
    hg.write("stable.txt", b"open again\n")
    hg.commit("open stable again")
    hg("update", "5")
    hg.write("anonymous", b"head\n")
    hg.commit("an anonymous head of default")


def _renames(hg: Session) -> None:
    hg("update", "default")
    hg("move", "plain.txt", "renamed.txt")
    hg.commit("rename")
    hg("copy", "renamed.txt", "copied.txt")
    hg.write("copied.txt", b"changed in the same step\n")
    hg.commit("copy and change")
    hg("update", ".^")
    hg.write("renamed.txt", b"changed on the other side\n")
    hg.commit("change what was renamed")
    hg("merge", "--tool", ":other", "--rev", "desc('copy and change')")
    hg.commit("merge with copies")
    hg("remove", "aux.h")
    hg.commit("remove")
    hg.write("aux.h", b"back\n")
    hg.commit("bring back")


def _tags(hg: Session) -> None:
    hg("tag", "--rev", "0", "first")
    hg("tag", "--rev", "2", "v1.0", "release \u00fc")
    hg("tag", "--force", "--rev", "4", "v1.0")
    hg("tag", "--remove", "first")
    hg("tag", "--local", "--rev", "1", "local-tag")


def _bookmarks(hg: Session) -> None:
    hg("bookmark", "--rev", "default", "@")
    hg("bookmark", "--rev", "stable", "feature/\u00fc")
    hg("bookmark", "--rev", "3", "old point")


@builder
def drafts(target: Path, source: Source) -> None:
    """Non-publishing; public, draft and secret; amended, pruned and orphaned changesets."""
    with fresh(EVOLVING, target) as hg:
        hg.write(".hg/hgrc", b"[phases]\npublish = no\n[experimental]\nevolution = all\n")
        for step in range(4):
            hg.write("file", b"%d\n" % step)
            hg.commit(f"public {step}")
        hg("phase", "--public", "--rev", ".")
        for step in range(3):
            hg.write(f"draft-{step}", b"x\n")
            hg.commit(f"draft {step}")
        hg.write("draft-2", b"amended\n")
        hg("commit", "--amend", "--message", "draft 2 amended", "--date", "5 0")
        hg.write("child", b"x\n")
        hg.commit("parent of an orphan")
        hg.write("orphan", b"x\n")
        hg.commit("orphan")
        hg("bookmark", "--rev", ".", "on-orphan")
        hg("update", "desc('parent of an orphan')")
        hg.write("child", b"amended\n")
        hg("commit", "--amend", "--message", "parent, amended", "--date", "6 0")
        hg("update", "desc('public 3')")
        hg.write("pruned", b"x\n")
        hg.commit("pruned")
        pruned = hg("log", "--rev", ".", "--template", "{node}").decode()
        hg("update", ".^")
        hg("debugobsolete", "--record-parents", pruned)
        hg.write("secret", b"never tell\n")
        hg("commit", "--addremove", "--secret", "--message", "secret")
        hg("bookmark", "--rev", ".", "hush")
        hg.write("secret", b"never tell twice\n")
        hg.commit("secret child")
        hg("update", "desc('draft 2 amended')")


@builder
def rewritten(target: Path, source: Source) -> None:
    """Nothing secret; a rewritten changeset and a pruned one are hidden, their markers there. (No
    `amend`, which notes the old hash in the new changeset.)
    """
    with fresh(EVOLVING, target) as hg:
        hg.write("file", b"1\n")
        hg.commit("kept")
        hg.write("file", b"a text that was a mistake\n")
        hg.commit("hidden: rewritten")
        hg("update", ".^")
        hg.write("file", b"2\n")
        hg.commit("kept, too")
        old, new = hg("log", "--rev", "1:2", "--template", "{node} ").decode().split()
        hg("debugobsolete", old, new)
        hg.write("pruned", b"a text that was pruned\n")
        hg.commit("hidden: pruned")
        pruned = hg("log", "--rev", ".", "--template", "{node}").decode()
        hg("update", ".^")
        hg("debugobsolete", "--record-parents", pruned)


@builder
def far_markers(target: Path, source: Source) -> None:
    """Markers, but of changesets that never were here: nothing is hidden."""
    with fresh(EVOLVING, target) as hg:
        hg.write("file", b"1\n")
        hg.commit("one")
        node = hg("log", "--rev", ".", "--template", "{node}").decode()
        hg("debugobsolete", "ab" * 20, node)


@builder
def many_heads(target: Path, source: Source) -> None:
    """2,000 heads on one stem, on a hundred branches."""
    WARM("init", target)
    dag = "+20:stem " + " ".join(f"@b{number % 100} <stem+1" for number in range(HEADS))
    WARM("debugbuilddag", "--new-file", dag, cwd=target)


@builder
def big_file(target: Path, source: Source) -> None:
    """A file of 100 MB, half of it incompressible, and a small change to it."""
    noise = random.Random(3)
    half = BIG_BYTES // 2
    block = noise.randbytes(1_000_000)
    with fresh(WARM, target) as hg:
        path = hg.write("big", noise.randbytes(half) + (block * (half // len(block) + 1))[:half])
        hg.commit("100 MB")
        with path.open("r+b") as file:
            file.seek(BIG_BYTES // 3)
            file.write(b"changed in the middle")
        hg.commit("a small change")


@builder
def tree(target: Path, source: Source) -> None:
    """A folder of repositories: nested ones, one inside another, a subrepository, odd names."""
    for name in ("one", "group/two", "group/deep/three", "with space/gr\u00f6\u00dfe"):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh(WARM, path) as hg:
            hg.write("name", name.encode() + b"\n")
            hg.commit(f"first of {name}")
    with (
        fresh(WARM, target / "super") as hg,
        fresh(WARM, target / "super" / "sub") as sub,
    ):
        sub.write("inner", b"inner\n")
        sub.commit("inner")
        hg.write(".hgsub", b"sub = sub\n")
        hg.commit("with a subrepository")
    (target / "not-a-repository").mkdir()
