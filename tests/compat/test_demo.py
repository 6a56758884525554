"""`scripts/demo`, as a newcomer runs it: the line that it prints works, Ctrl-C ends it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from tests.compat.hg import INSTALLED, ROOT
from tests.compat.history import nodes, verify

SECONDS = 120


def test_the_printed_line_clones(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    demo = subprocess.Popen(
        [ROOT / "scripts" / "demo"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        words = clone_line(demo)
        INSTALLED(*words[1:], cwd=tmp_path)
    finally:
        os.killpg(demo.pid, signal.SIGINT)  # what a terminal does at Ctrl-C
        demo.communicate(timeout=SECONDS)
    assert demo.returncode == 0
    clone = tmp_path / "sample"
    verify(INSTALLED, clone)
    assert len(nodes(INSTALLED, clone)) == 13  # not the secret one
    assert len(nodes(INSTALLED, clone, "merge()")) == 1
    assert len(nodes(INSTALLED, clone, "draft()")) == 3
    assert INSTALLED("bookmarks", "--template", "{bookmark} ", cwd=clone) == b"@ review "
    assert INSTALLED("tags", "--template", "{tag} ", cwd=clone) == b"tip 1.0.1 1.0 "
    assert list(tmp_path.glob("trunkline-demo.*")) == []


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--listen", "127.0.0.1"], 2, "can't listen on '127.0.0.1'"),
        (["--nonsense"], 2, "No such option"),
        (["--help"], 0, "--listen ADDRESS"),
    ],
)
def test_options_are_looked_at_before_anything_slow(
    options: list[str], status: int, words: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "demo", *options],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == status
    assert words in done.stdout + done.stderr
    assert "making a sample" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_sigterm_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [ROOT / "scripts" / "demo"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert demo.stderr is not None
    assert any("making a sample" in line for line in demo.stderr)
    demo.terminate()
    demo.communicate(timeout=SECONDS)  # to the end of all that hold its stderr
    assert demo.returncode == 143
    assert list(tmp_path.iterdir()) == []


def clone_line(demo: subprocess.Popen[str]) -> list[str]:
    assert demo.stdout is not None
    for line in demo.stdout:
        if found := re.match(r"\s+(\S*hg clone http://\S+ sample)$", line):
            return found.group(1).split()
    raise AssertionError(f"no clone line; exit status {demo.wait(SECONDS)}")
