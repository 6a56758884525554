"""`trunkline.svn.client`: the tree that `svn import` makes, by parallel PUTs; all or nothing."""

from __future__ import annotations

import http.client
import os
import random
import subprocess
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.compat.svn import apache
from tests.compat.svn.client import Site
from tests.compat.svn.conftest import Make

from trunkline.svn.client import CommitFailed, File, commit_files, files_below

NAMES = ("plain", "with space", "ü%41&<'>", "!svn", "a;b=c@1")
HELD = 6  # more than one worker has of anything that could be waited for


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dice = random.Random(7)
    folder = tmp_path_factory.mktemp("tree")
    for number in range(120):
        below = folder.joinpath(*dice.choices(NAMES, k=number % 4))
        below.mkdir(parents=True, exist_ok=True)
        (below / f"{dice.choice(NAMES)}{number}").write_bytes(dice.randbytes(number * 50))
    (folder / "empty").touch()
    (folder / "large").write_bytes(dice.randbytes(3_000_000))
    return folder


def transactions(site: Site) -> list[str]:
    """Of the repository, and ours of before it."""
    uuid = (site.disk / "db" / "uuid").read_text().split()[0]
    own = (site.disk.parent.parent / "state").glob(f"{uuid}-*/*-*")
    return [*os.listdir(site.disk / "db" / "transactions"), *map(str, own)]


@pytest.mark.parametrize("which", ["ours", "stock"])
def test_makes_what_svn_import_makes(pair: Make, tree: Path, which: str) -> None:
    """A stock server takes one writer, so it is asked by one connection in any case."""
    site: Site = getattr(pair("v2"), which)
    site.run(f'svn import -q --no-ignore --no-auto-props -m one {tree} "$U/a b/c"', expect_ok=True)
    site.run('svn mkdir -q -m two "$U/a b/d"', expect_ok=True)
    files = files_below(tree)
    done = commit_files(f"{site.url}/a%20b/d", files, "three ü")
    assert (done.revision, done.author, done.warning) == (3, None, None)
    site.verify()
    for name in "cd":
        site.run(f'svn export -q "$U/a b/{name}" {name}', expect_ok=True)
    subprocess.run(["diff", "-r", "c", "d"], cwd=site.folder, check=True)
    assert len(files) == 122
    assert "three ü" in site.run("svn log -r3 $U").lines
    assert transactions(site) == []


def test_changes_files_that_are_there_and_sets_properties(pair: Make) -> None:
    site = pair("v2").ours
    site.run(
        "echo old >f && svn mkdir -q -m one $U/d && svnmucc -m two -U $U put f d/f",
        expect_ok=True,
    )
    odd = b"\x01 <&>\xff"
    new = File(b"new", {"svn:mime-type": b"text/x-own", "own:a": odd})
    assert commit_files(site.url, {"d/f": new, "e/g": b"g"}, "three").revision == 3
    assert site.run("svn cat $U/d/f").lines == ["new"]
    assert site.run("svn propget svn:mime-type $U/d/f").lines == ["text/x-own"]
    got = subprocess.run(
        ["svnlook", "propget", str(site.disk), "own:a", "d/f"], capture_output=True, check=True
    )
    assert got.stdout == odd
    site.verify()


def refuse(site: Site, hook: str, text: str) -> None:
    path = site.disk / "hooks" / hook
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_says_why_nothing_was_committed(pair: Make, tmp_path: Path) -> None:
    site = pair("v2").ours
    many = {f"f{number}": b"%d" % number for number in range(200)}
    cases: list[tuple[str, dict[str, File | bytes | Path], str, int | None]] = [
        ("/none", {"f": b""}, "not found", 160013),
        ("", {"f": tmp_path / "none"}, "No such file", None),
        ("", {**many, "f7/below": b""}, "f7", None),
    ]
    for below, files, words, code in cases:
        with pytest.raises(CommitFailed, match=words) as raised:
            commit_files(site.url + below, files, "no")
        assert code is None or raised.value.code == code
    refuse(site, "pre-commit", "echo 'not today' >&2; exit 1")
    with pytest.raises(CommitFailed, match="not today"):
        commit_files(site.url, many, "no")
    refuse(site, "start-commit", "echo 'not even begun' >&2; exit 1")
    with pytest.raises(CommitFailed, match="not even begun"):
        commit_files(site.url, many, "no")
    assert transactions(site) == []
    assert (site.disk / "db" / "current").read_text().split()[0] == "0"
    with pytest.raises(CommitFailed, match="can't be reached"):
        commit_files("http://127.0.0.1:1/r", many, "no")
    with pytest.raises(ValueError, match="not a path"):
        commit_files(site.url, {"a/../b": b""}, "no")


def test_goes_on_where_a_server_closes_each_few_requests() -> None:
    with tempfile.TemporaryDirectory(prefix="trunkline-svn-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for one in ("apache", "repositories"):
            (folder / one).mkdir()
        subprocess.run(["svnadmin", "create", folder / "repositories" / "r"], check=True)
        with apache.apache(folder / "repositories", folder / "apache", requests=7) as url:
            files = {f"d/f{number}": b"%d" % number for number in range(50)}
            assert commit_files(f"{url}/r", files, "many").revision == 1
        tree = subprocess.check_output(["svnlook", "tree", str(folder / "repositories" / "r")])
        assert tree.count(b"\n") == 52


def test_puts_of_one_transaction_run_side_by_side(pair: Make) -> None:
    """Several are half sent, when others begin and end."""
    site = pair("v2").ours
    parts = urlsplit(site.url)
    body = b"(create-txn-with-props (svn:log 1 m))"
    begun = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    headers = {"Content-Type": "application/vnd.svn-skel", "SVN-VTxn-Name": "side-by-side"}
    begun.request("POST", f"{parts.path}/!svn/me", body, headers)
    assert begun.getresponse().read() == b""
    half = b"x" * 1_000_000
    held = []
    for number in range(HELD):
        one = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        one.putrequest("PUT", f"{parts.path}/!svn/vtxr/side-by-side/held{number}")
        one.putheader("Content-Length", str(2 * len(half)))
        one.endheaders(half)
        held.append(one)
    for number in range(40):
        begun.request("PUT", f"{parts.path}/!svn/vtxr/side-by-side/f{number}", half[:300_000])
        assert begun.getresponse().read() == b""
    ends = [threading.Thread(target=one.send, args=(half,)) for one in held]
    for end in ends:
        end.start()
    assert {one.getresponse().status for one in held} == {201}
    source = f"<D:source><D:href>{parts.path}/!svn/vtxn/side-by-side</D:href></D:source>"
    begun.request("MERGE", f"{parts.path}/", f'<D:merge xmlns:D="DAV:">{source}</D:merge>')
    assert begun.getresponse().status == 200
    site.verify()
    assert len(site.run("svn ls $U").lines) == HELD + 40
