"""Mercurial's own test suite against Trunkline; `scripts/conformance-hg` runs this.

Takes the source release of the installed Mercurial from PyPI, runs its run-tests.py with `hg serve`
redirected (redirect.py), and writes docs/conformance-hg.md. Every changed hunk of a test's output
has to be in differences.toml with its reason; one that isn't there makes the run fail.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.conformance.differences import (
    UNEXPLAINED,
    Hunk,
    append_unexplained,
    hunks_of,
    read_reasons,
)

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
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
    "test-unbundlehash.t",
    "test-push-http.t",
    "test-http.t",
    "test-https.t",
    "test-http-permissions.t",
    "test-bookmarks-pushpull.t",
    "test-largefiles-wireproto.t",
    "test-lfs-serve.t",
    "test-lfs-serve-access.t",
)


@dataclass(frozen=True)
class Outcome:
    """One test, or one of its variants (`test.t#variant`)."""

    name: str
    result: str
    seconds: float
    hunks: tuple[Hunk, ...]


def source_release(release: str) -> Path:
    """The unpacked source of a release, downloaded once through pip."""
    target = CACHE / f"mercurial-{release}"
    if not (target / "tests" / "run-tests.py").exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check"]
        command += ["--no-binary", "mercurial", "--dest", str(CACHE), f"mercurial=={release}"]
        subprocess.run(command, check=True)
        with tarfile.open(CACHE / f"mercurial-{release}.tar.gz") as archive:
            # Python before 3.11.4 knows no filters.
            filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(CACHE, **filters)
    return target


def run_tests(source: Path, tests: Iterable[str], is_stock: bool, jobs: int) -> list[Outcome]:
    output = CACHE / "conformance"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    programs = Path(sys.executable).parent
    command = [sys.executable, "run-tests.py", f"--with-hg={programs / 'hg'}", f"-j{jobs}"]
    # Ports of its own, below those that the system hands out, so that two runs don't meet.
    port = 20_000 + os.getpid() % 60 * 200
    command += ["--json", f"--outputdir={output}", "--timeout=900", f"--port={port}"]
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
    report = json.loads((output / "report.json").read_text().removeprefix("testreport ="))
    log_text = (output / "run-tests.log").read_text(errors="surrogateescape")
    own_version = f"trunkline/{version('trunkline')}"
    hunks = hunks_of(
        log_text.replace(str(ROOT), "$CHECKOUT").replace(own_version, "trunkline/VERSION")
    )
    return [
        Outcome(name, entry["result"], float(entry.get("time", 0)), tuple(hunks.get(name, ())))
        for name, entry in sorted(report.items())
    ]


def unexplained(outcome: Outcome, reasons: dict[Hunk, str]) -> list[str]:
    """What is wrong with one variant. Nothing: it passes, or each difference has its reason."""
    faults = [hunk.lines for hunk in outcome.hunks if reasons.get(hunk, UNEXPLAINED) == UNEXPLAINED]
    if outcome.result == "failure" and not outcome.hunks:
        faults.append("failed without a difference in its output (time out?)")
    return faults


def rendered(release: str, outcomes: list[Outcome], reasons: dict[Hunk, str]) -> str:
    """docs/conformance-hg.md."""
    lines = [INTRODUCTION.format(release=release), "| test | result |", "|---|---|"]
    for outcome in outcomes:
        lines.append(f"| {outcome.name} | {verdict(outcome, reasons)} |")
    lines += ["", "## Differences", ""]
    happened = dict.fromkeys(hunk for outcome in outcomes for hunk in outcome.hunks)
    places = Counter((hunk.test, reasons.get(hunk, UNEXPLAINED)) for hunk in happened)
    for (test, reason), count in places.items():
        lines.append(f"- **{test}**, {count} {'place' if count == 1 else 'places'}: {reason}")
    if not places:
        lines.append("None.")
    return "\n".join(lines) + "\n"


def verdict(outcome: Outcome, reasons: dict[Hunk, str]) -> str:
    if unexplained(outcome, reasons):
        return "**fails**"
    if outcome.result == "skip":
        return "skipped by its own `#require`"
    if outcome.hunks:
        return f"passes, but for {len(outcome.hunks)} places below"
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
    parser.add_argument(
        "--learn",
        action="store_true",
        help="add what differs to differences.toml, without a reason",
    )
    parser.add_argument("--jobs", type=int, default=2, help="tests at a time (2)")
    parser.add_argument("tests", nargs="*", help="instead of the whole list; writes no report")
    asked = parser.parse_args()
    release = version("mercurial")
    outcomes = run_tests(source_release(release), asked.tests or WANTED, asked.stock, asked.jobs)
    reasons = {} if asked.stock else read_reasons()
    if asked.learn:
        append_unexplained(h for o in outcomes for h in o.hunks if h not in reasons)
    is_good = True
    for outcome in outcomes:
        faults = unexplained(outcome, reasons)
        is_good = is_good and not faults
        print(f"{outcome.name}: {verdict(outcome, reasons)} ({outcome.seconds:.0f} s)")
        for fault in faults:
            print("    " + fault.replace("\n", "\n    "))
    if not asked.tests and not asked.stock:
        REPORT.write_text(rendered(release, outcomes, reasons))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
