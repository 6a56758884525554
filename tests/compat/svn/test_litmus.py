"""Plain WebDAV with autoversioning, by litmus: what passes on a stock Apache passes here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.serving import serving
from tests.compat.svn import apache

FAILED = re.compile(r"(\d+)\. (\w+)\.* FAIL")
BEGAN = re.compile(r"-> running `(\w+)'")
SECONDS = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that Apache's own account can enter."""
    made = Path(tempfile.mkdtemp(prefix="trunkline-litmus-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def failures(url: str, folder: Path) -> set[tuple[str, ...]]:
    """Of suites; nobody logs in, so locks that need a name fail on both."""
    done = subprocess.run(
        ["litmus", "-k", url],
        cwd=folder,  # where it writes its logs
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
    )
    found: set[tuple[str, ...]] = set()
    suite = ""
    for line in done.stdout.splitlines():
        if began := BEGAN.match(line):
            suite = began[1]
        if failed := FAILED.search(line):
            found.add((suite, *failed.groups()))
    assert suite == "http", done.stdout[-2000:]  # the last
    return found


@pytest.mark.skipif(shutil.which("litmus") is None, reason="no litmus")
def test_what_passes_on_apache_passes_here(folder: Path, tmp_path: Path) -> None:
    for name in ("stock", "ours", "apache"):
        (folder / name).mkdir()
    for name in ("stock", "ours"):
        subprocess.run(["svnadmin", "create", folder / name / "r"], check=True)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", apache.ACCOUNT, folder / "stock"], check=True)
    settings = tmp_path / "settings.toml"
    settings.write_text(
        'allow_write = "anonymous"\n[subversion]\nautoversioning = true\n'
        f'transactions = "{tmp_path}/state"\n'
    )
    with apache.apache(folder / "stock", folder / "apache", "SVNAutoversioning on") as stock:
        allowed = failures(f"{stock}/r/", tmp_path)
    with serving(folder / "ours", tmp_path / "server", "--settings", str(settings)) as ours:
        found = failures(f"{ours.url}/r/", tmp_path)
    assert found <= allowed, found - allowed
