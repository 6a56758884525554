"""Where the output of Mercurial's tests may differ under Trunkline, each hunk with its reason."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).with_name("differences.toml")

UNEXPLAINED = "?"
HEAD = re.compile(r"^\+\+\+ \S*/(test-[^/]+)\.err\n", re.MULTILINE)
PLACE = re.compile(r"\(_ssl\.c:\d+\)")  # in the source of whichever Python it is
END = re.compile(r"^ERROR: test-.* output changed\n", re.MULTILINE)


@dataclass(frozen=True)
class Hunk:
    """The changed lines of one place in one test: those of the release that went, and ours.

    The lines that went are told by their digest: they stand in the release.
    """

    test: str
    removed: str
    added: tuple[str, ...]

    @property
    def lines(self) -> str:
        return "\n".join([f"- {self.removed}", *(f"+{line}" for line in self.added)])


def hunks_of(log: str) -> dict[str, list[Hunk]]:
    """From the output of run-tests.py: the hunks of each failing variant (`test.t#variant`)."""
    found: dict[str, list[Hunk]] = {}
    starts = list(HEAD.finditer(log))
    for start in starts:
        end = END.search(log, start.end())
        diff = log[start.end() : end.start() if end else len(log)]
        name = start.group(1)
        found[name] = list(parse_hunks(name.split("#")[0], diff))
    return found


def parse_hunks(test: str, diff: str) -> Iterator[Hunk]:
    for text in re.split(r"^@@ .*@@.*\n", diff, flags=re.MULTILINE)[1:]:
        lines = text.split("\n")
        gone = [line[1:] for line in lines if line.startswith("-")]
        added = tuple(PLACE.sub("(_ssl.c)", line[1:]) for line in lines if line.startswith("+"))
        yield Hunk(test, format_removed(gone), added)


def format_removed(lines: list[str]) -> str:
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    return f"{len(lines)} lines, {digest}" if lines else "nothing"


def read_reasons(path: Path = PATH) -> dict[Hunk, str]:
    table = tomllib.loads(path.read_text()).get("difference", [])
    return {
        Hunk(entry["test"], entry["removed"], tuple(entry["added"].split("\n")[:-1])): entry[
            "reason"
        ]
        for entry in table
    }


def append_unexplained(hunks: Iterable[Hunk], path: Path = PATH) -> None:
    """For a person to write the reasons; until then the run fails."""
    with path.open("a") as file:
        for hunk in dict.fromkeys(hunks):
            added = "".join(line + "\n" for line in hunk.added)
            file.write(
                f'\n[[difference]]\ntest = "{hunk.test}"\nreason = "{UNEXPLAINED}"\n'
                f"removed = \"{hunk.removed}\"\nadded = '''\n{added}'''\n"
            )
