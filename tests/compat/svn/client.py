"""Stock `svn` and its friends, and what they say with all that can't be the same left out."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

RUN_SECONDS = 120

# What differs from run to run, and from server to server only by its name.
NOISE = (
    (re.compile(r"/(svn/)?r(?=[/'\" @]|$)"), "/REPOSITORY"),
    (re.compile(r"transaction '[^']*'"), "transaction 'TXN'"),
    (re.compile(r"!svn/(txr|txn|wrk|act)/[^/' ]*"), r"!svn/\1/TXN"),
    (re.compile(r"opaquelocktoken:[-0-9a-f]+"), "TOKEN"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "DATE"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [^|\n]*"), "DATE "),
    (re.compile(r"[A-Z][a-z]{2} \d\d \d\d:\d\d"), "DATE"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
)


@dataclass(frozen=True)
class Said:
    """`lines` are sorted: libsvn walks its hashes in an order of each process's own."""

    status: int
    lines: list[str]


class Site:
    """One server, and a folder for the working copies of it. `disk` is the repository."""

    def __init__(self, url: str, disk: Path, folder: Path) -> None:
        self.url = url
        self.disk = disk
        self.folder = folder
        folder.mkdir()

    def run(self, command: str, expect_ok: bool = False) -> Said:
        """A line for the shell, in `folder`; `$U` is the repository's URL."""
        done = subprocess.run(
            ["bash", "-c", "set -o pipefail; " + command],
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "LC_ALL": "C.UTF-8",
                "U": self.url,
                "SVN_EDITOR": "true",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=RUN_SECONDS,
            check=False,
        )
        text = done.stdout.decode("utf-8", "backslashreplace")
        assert not expect_ok or done.returncode == 0, f"{command}\n{text}"
        return Said(done.returncode, sorted(self.quiet(text).splitlines()))

    def quiet(self, text: str) -> str:
        text = text.replace(self.url, "URL").replace(str(self.folder), "HERE")
        for pattern, words in NOISE:
            text = pattern.sub(words, text)
        return text

    def verify(self) -> None:
        command = ["svnadmin", "verify", "-q", str(self.disk)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    def dump(self) -> bytes:
        """All revisions, without their dates."""
        command = ["svnadmin", "dump", "-q", str(self.disk)]
        done = subprocess.run(command, capture_output=True, check=True)
        dates = re.compile(rb"^\d{4}-\d\d-\d\dT[\d:.]+Z$", re.MULTILINE)
        return re.sub(rb"^UUID: .*$", b"", dates.sub(b"DATE", done.stdout), flags=re.MULTILINE)


@dataclass(frozen=True)
class Pair:
    """The same repository on both."""

    stock: Site
    ours: Site

    def same(self, *commands: str) -> None:
        """Each says the same on both."""
        for command in commands:
            theirs, ours = self.stock.run(command), self.ours.run(command)
            lines = "\n".join(unified_diff(theirs.lines, ours.lines, "stock", "ours", n=0))
            assert ours == theirs, f"{command}\n{lines}\n{theirs.status} {ours.status}"

    def wrote(self) -> None:
        """What was written is sound, and the same."""
        self.ours.verify()
        assert self.ours.dump() == self.stock.dump()
