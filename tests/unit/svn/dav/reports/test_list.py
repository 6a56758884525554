"""Our own walk of a tree against libsvn's, which a pattern that all match makes do it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.unit.svn.repositories import Core, make_core

REPORT = (
    b'<S:list-report xmlns:S="svn:"><S:path>%s</S:path><S:depth>%s</S:depth>%s%s</S:list-report>'
)
ALL = b"<S:prop>DAV:allprop</S:prop>"
ANY = b"<S:pattern>*</S:pattern>"
NAMES = ("a&b", "b!", "b-c", "b/c", "b/d&e/f", "ü", "empty/", "a.b/x", "a/y")
HIDING = "[/]\n* = rw\n[r:/tree/b/d&e]\n* =\n[r:/secret]\n* =\n"


def fill(core: Core) -> None:
    top = core.disk.parent / "names"
    for name in NAMES:
        path = top / "tree" / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text(name * len(name))
    (top / "secret").mkdir()
    (top / "secret" / "s").write_text("s")
    url = core.disk.as_uri()
    subprocess.run(["svn", "import", "-q", "-m", "m", str(top), url], check=True)
    words = ["svnmucc", "-m", "m", "-U", url, "propset", "p", "v", "tree/b/c"]
    subprocess.run(words, check=True)


@pytest.mark.parametrize("rules", [None, HIDING])
def test_lists_as_libsvn_does(tmp_path: Path, rules: str | None) -> None:
    for core in make_core(tmp_path, rules):
        fill(core)
        for path in (b"", b"tree", b"tree/b/c", b"tree/empty", b"secret"):
            for depth in (b"empty", b"files", b"immediates", b"infinity"):
                for prop in (b"", ALL):
                    ours, theirs = (
                        core.ask("REPORT", b"/!svn/rvr/3", REPORT % (path, depth, prop, pattern))
                        for pattern in (b"", ANY)
                    )
                    assert ours[1] == theirs[1], (path, depth, prop)


def test_of_nothing_is_not_found(tmp_path: Path) -> None:
    for core in make_core(tmp_path):
        with pytest.raises(Exception, match="Path '/none' not found"):
            core.ask("REPORT", b"/!svn/rvr/1", REPORT % (b"none", b"infinity", b"", b""))
