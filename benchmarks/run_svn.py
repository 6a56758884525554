"""`python -m benchmarks.run_svn`: Trunkline and Apache with mod_dav_svn by turns, every raw round
kept as JSON.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import click

from benchmarks import svn_servers
from benchmarks.rounds import Figures, Round, save, show, show_head, take_turns
from benchmarks.svn_cases import CASES, WRITTEN, Case, scratch_folder, svn, throw_away
from benchmarks.svn_dataset import build

WARM = (("info",), ("log", "-v", "-l1"), ("list",))


def measure(case: Case, peer: str, repository: Path, copies: Path) -> Figures:
    """One round on a fresh server, after a few small ones so that start-up isn't counted."""
    scratch = scratch_folder(copies, repository)
    server = svn_servers.start(peer, repository, case.is_wide)
    try:
        for words in WARM:
            svn(scratch, *words, server.url)
        figures = case.run(server, scratch)
        figures["server_peak_bytes"] = server.peak_bytes()
    finally:
        server.stop()
        throw_away(scratch)
    return figures


def stock_version(command: list[str]) -> str:
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    match = re.search(r"\d+\.\d+\.\d+", said)
    return match[0] if match else ""


def versions() -> dict[str, str]:
    return {
        "subversion": stock_version(["svn", "--version", "--quiet"]),
        "apache": stock_version(["apache2", "-v"]),
    }


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path(".cache/bench-svn"))
@click.option("--rounds", default=3, show_default=True, help="rounds of each case and server")
@click.option("--case", "names", multiple=True, help="only these cases")
@click.option("--save", "target", type=click.Path(path_type=Path), help="JSON file for the rounds")
def main(folder: Path, rounds: int, names: tuple[str, ...], target: Path | None) -> None:
    """Measure Trunkline against the stock server, by turns, and keep every round."""
    kept: list[Round] = []
    show_head("mod_dav_svn")
    with tempfile.TemporaryDirectory(prefix="trunkline-bench-", dir=WRITTEN) as copies:
        for case in [CASES[name] for name in names or CASES]:
            repository = build(case.dataset, folder)
            measured = partial(measure, case, repository=repository, copies=Path(copies))
            found = take_turns(case.name, rounds, measured)
            kept += found
            show(case.title, found)
            if target:
                save(target, kept, versions())


if __name__ == "__main__":
    main()
