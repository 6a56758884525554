"""`python -m benchmarks.run_svn`: Trunkline and Apache with mod_dav_svn by turns, every raw round
kept as JSON.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median

import click

from benchmarks import svn_servers
from benchmarks.run import PEERS, Round, machine
from benchmarks.svn_cases import CASES, WRITTEN, Case, Figures, scratch_folder, svn, throw_away
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


def save(path: Path, rounds: list[Round]) -> None:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "versions": {
            "trunkline": version("trunkline"),
            "subversion": stock_version(["svn", "--version", "--quiet"]),
            "apache": stock_version(["apache2", "-v"]),
            "granian": version("granian"),
        },
        "machine": machine(),
        "rounds": rounds,
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def show(case: Case, rounds: list[Round]) -> None:
    """One line a figure: both medians and their ratio."""
    mine = [entry for entry in rounds if entry["case"] == case.name]
    for name in mine[0]["figures"]:
        stock, ours = (
            median(entry["figures"][name] for entry in mine if entry["peer"] == peer)
            for peer in PEERS
        )
        ratio = f"{ours / stock:8.3f}x" if stock else "        -"
        click.echo(f"{case.title:36} {name:18} {stock:16,.3f} {ours:16,.3f} {ratio}")


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path(".cache/bench-svn"))
@click.option("--rounds", default=3, show_default=True, help="rounds of each case and server")
@click.option("--case", "names", multiple=True, help="only these cases")
@click.option("--save", "target", type=click.Path(path_type=Path), help="JSON file for the rounds")
def main(folder: Path, rounds: int, names: tuple[str, ...], target: Path | None) -> None:
    """Measure Trunkline against the stock server, by turns, and keep every round."""
    kept: list[Round] = []
    click.echo(f"{'case':36} {'figure (median)':18} {'mod_dav_svn':>16} {'trunkline':>16}    ratio")
    with tempfile.TemporaryDirectory(prefix="trunkline-bench-", dir=WRITTEN) as copies:
        for case in [CASES[name] for name in names or CASES]:
            repository = build(case.dataset, folder)
            for number in range(rounds):
                for peer in PEERS if number % 2 == 0 else PEERS[::-1]:
                    figures = measure(case, peer, repository, Path(copies))
                    kept.append({"case": case.name, "peer": peer, "figures": figures})
            show(case, kept)
            if target:
                save(target, kept)


if __name__ == "__main__":
    main()
