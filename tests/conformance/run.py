"""Mercurial's own test suite against Trunkline; `scripts/conformance-hg` runs this.

Takes the source release of the installed Mercurial from PyPI, runs its run-tests.py with `hg serve`
redirected (redirect.py), and writes docs/conformance-hg.md. Every changed hunk of a test's output
has to be in differences.toml with its reason; one that isn't there, or is there and doesn't happen,
makes the run fail.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
DIFFERENCES = Path(__file__).with_name("differences.toml")
REPORT = ROOT / "docs" / "conformance-hg.md"

WANTED = (
    "test-http-protocol.t",
    "test-http-bundle1.t",
    "test-http-branchmap.t",
    "test-http-clone-r.t",
    "test-pull-http.t",
    "test-pull-r.t",
    "test-known.t",
    "test-wireproto.t",
    "test-setdiscovery.t",
    "test-treediscovery.t",
    "test-clone-stream.t",
    "test-stream-bundle-v2.t",
)


@dataclass(frozen=True)
class Difference:
    """A hunk that Trunkline changes in a test's output, and why that's right."""

    test: str
    reason: str
    changed: tuple[str, ...]  # its lines that begin with - or +

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        return self.test, self.changed


@dataclass(frozen=True)
class Outcome:
    """One test, or one of its variants (`test.t#variant`)."""

    name: str
    result: str
    seconds: float
    hunks: tuple[tuple[str, ...], ...]

    @property
    def test(self) -> str:
        return self.name.split("#")[0]


def source_release(release: str) -> Path:
    """The unpacked source of a release, downloaded once through pip."""
    target = CACHE / f"mercurial-{release}"
    if not (target / "tests" / "run-tests.py").exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check"]
        command += ["--no-binary", "mercurial", "--dest", str(CACHE), f"mercurial=={release}"]
        subprocess.run(command, check=True)
        with tarfile.open(CACHE / f"mercurial-{release}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
    return target


def run_tests(source: Path, tests: Iterable[str], is_stock: bool, jobs: int) -> list[Outcome]:
    output = CACHE / "conformance"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    programs = Path(sys.executable).parent
    command = [sys.executable, "run-tests.py", f"--with-hg={programs / 'hg'}", f"-j{jobs}"]
    command += ["--json", f"--outputdir={output}", "--timeout=900"]
    if not is_stock:
        redirect = Path(__file__).with_name("redirect.py")
        command.append(f"--extra-config-opt=extensions.trunkline_serve={redirect}")
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    with (output / "run-tests.log").open("wb") as log:
        subprocess.run(
            [*command, *tests],
            cwd=source / "tests",
            env=environment,
            stdout=log,
            stderr=log,
            check=False,
        )
    text = (output / "report.json").read_text()
    report = json.loads(text.removeprefix("testreport ="))
    return [
        Outcome(
            name, entry["result"], float(entry.get("time", 0)), tuple(hunks(entry.get("diff", "")))
        )
        for name, entry in sorted(report.items())
    ]


VOLATILE = (
    (re.compile(r"\b\d\d/\w{3}/\d{4} \d\d:\d\d:\d\d"), "DATE"),
    (re.compile(r"^([-+]).*/hgtests\.[^/]*/"), r"\1.../"),
)


def hunks(diff: str) -> Iterable[tuple[str, ...]]:
    """The changed lines of each hunk of a unified diff, without what changes from run to run."""
    for hunk in re.split(r"^@@ .*@@.*\n", diff, flags=re.MULTILINE)[1:]:
        changed = [line for line in hunk.splitlines() if line[:1] in ("-", "+")]
        for pattern, word in VOLATILE:
            changed = [pattern.sub(word, line) for line in changed]
        yield tuple(changed)


def known_differences() -> list[Difference]:
    table = tomllib.loads(DIFFERENCES.read_text()).get("difference", [])
    return [
        Difference(entry["test"], entry["reason"], tuple(entry["changed"].splitlines()))
        for entry in table
    ]


def judge(outcomes: Iterable[Outcome], known: Iterable[Difference]) -> dict[str, list[str]]:
    """For each variant what is wrong with it; nothing: it passes, or its differences are known."""
    reasons = {difference.key: difference.reason for difference in known}
    faults: dict[str, list[str]] = {}
    for outcome in outcomes:
        unknown = [hunk for hunk in outcome.hunks if (outcome.test, hunk) not in reasons]
        faults[outcome.name] = ["\n".join(hunk) for hunk in unknown]
        if outcome.result == "failure" and not outcome.hunks:
            faults[outcome.name].append("failed without a difference in its output (time out?)")
    return faults


def rendered(
    release: str, outcomes: list[Outcome], known: list[Difference], faults: dict[str, list[str]]
) -> str:
    """docs/conformance-hg.md."""
    happened = {(outcome.test, hunk) for outcome in outcomes for hunk in outcome.hunks}
    lines = [INTRODUCTION.format(release=release), "| test | result |", "|---|---|"]
    for outcome in outcomes:
        lines.append(f"| {outcome.name} | {verdict(outcome, faults[outcome.name])} |")
    lines += ["", "## Differences", ""]
    reasons: dict[tuple[str, str], int] = {}
    for difference in known:
        if difference.key in happened:
            place = (difference.test, difference.reason)
            reasons[place] = reasons.get(place, 0) + 1
    for (test, reason), count in reasons.items():
        places = "one place" if count == 1 else f"{count} places"
        lines.append(f"- **{test}**, {places}: {reason}")
    if not reasons:
        lines.append("None.")
    return "\n".join(lines) + "\n"


def verdict(outcome: Outcome, faults: list[str]) -> str:
    if faults:
        return "**fails**"
    if outcome.result == "skip":
        return "skipped by its own `#require`"
    if outcome.hunks:
        return f"passes but for {len(outcome.hunks)} known differences"
    return "passes"


INTRODUCTION = """\
# Mercurial's own tests against Trunkline

Written by `scripts/conformance-hg`, which takes the source release of the installed Mercurial
({release}) from PyPI and runs its `run-tests.py` with `hg serve` redirected to `trunkline serve`.

How the redirection works (`tests/conformance/`): a small extension hands the options of `hg serve`
to a front, which starts Trunkline and passes every byte of every body through unchanged. It gives
stock's accent to what means nothing in HTTP, so that the tests can be compared line by line: the
reason phrase `Script output follows`, the case and order of header names, and the format of the
access log. Two defaults of Trunkline differ from stock's on purpose and are set to stock's values
for these tests: `experimental.httppostargs=no`, `server.maxhttpheaderlen=1024`.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/conformance-hg", description=__doc__)
    parser.add_argument("--stock", action="store_true", help="control: with stock `hg serve`")
    parser.add_argument("--jobs", type=int, default=2, help="tests at a time (2)")
    parser.add_argument("tests", nargs="*", help="instead of the whole list; writes no report")
    asked = parser.parse_args()
    release = version("mercurial")
    outcomes = run_tests(source_release(release), asked.tests or WANTED, asked.stock, asked.jobs)
    known = [] if asked.stock else known_differences()
    faults = judge(outcomes, known)
    for outcome in outcomes:
        print(f"{outcome.name}: {verdict(outcome, faults[outcome.name])} ({outcome.seconds:.0f} s)")
        for fault in faults[outcome.name]:
            print("    " + fault.replace("\n", "\n    "))
    if not asked.tests and not asked.stock:
        REPORT.write_text(rendered(release, outcomes, known, faults))
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
