"""`python -m benchmarks.run`: Trunkline and `hg serve` by turns, every raw round kept as JSON."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TypedDict

import click

from benchmarks import process, sameness
from benchmarks.cases import CASES, Case, Figures, Repository
from benchmarks.dataset import build, run_hg, without_newest
from benchmarks.reader import Connection

PEERS = ("stock", "trunkline")


class Round(TypedDict):
    case: str
    peer: str
    figures: Figures


def read_repository(path: Path) -> Repository:
    heads = run_hg("-R", str(path), "heads", "-t", "-T", "{node}\n").split()
    count = run_hg("-R", str(path), "log", "-r", "tip", "-T", "{rev}")
    return Repository(path, heads, int(count) + 1)


def measure(case: Case, peer: str, repository: Repository) -> Figures:
    """One round on a fresh server, after one small request so that start-up isn't counted."""
    with served(case, repository) as path:
        return measure_at(path, case, peer, repository)


def measure_at(path: Path, case: Case, peer: str, repository: Repository) -> Figures:
    server = process.start(peer, path, case.config, case.spools)
    try:
        warm(server)
        before = server.cpu_seconds()
        figures = case.run(server, repository)
        figures.setdefault("server_cpu_s", server.cpu_seconds() - before)
        if "requests" in figures:
            figures["cpu_per_request_s"] = figures["server_cpu_s"] / figures["requests"]
        figures["server_peak_bytes"] = server.peak_bytes()
    finally:
        server.stop()
    return figures


@contextmanager
def served(case: Case, repository: Repository) -> Iterator[Path]:
    """What the server of one round serves."""
    if case.missing is None:
        yield repository.path
        return
    older = without_newest(repository.path, repository.changesets, case.missing)
    with tempfile.TemporaryDirectory(prefix="trunkline-bench-") as scratch:
        yield Path(shutil.copytree(older, Path(scratch) / "served", symlinks=True))


def warm(server: process.Server) -> None:
    connection = Connection(server.port)
    try:
        connection.get("/?cmd=capabilities", {})
    finally:
        connection.close()


def machine() -> dict[str, str | int]:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def save(path: Path, rounds: list[Round], dataset: str, about: dict[str, int]) -> None:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "versions": {name: version(name) for name in ("trunkline", "mercurial", "granian")},
        "machine": machine(),
        "dataset": {"name": dataset, **about},
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
        click.echo(f"{case.title:34} {name:18} {stock:16,.3f} {ours:16,.3f} {ratio}")


@click.command()
@click.option("--dataset", default="large", show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path(".cache/bench"))
@click.option("--rounds", default=3, show_default=True, help="rounds of each case and server")
@click.option("--case", "names", multiple=True, help="only these cases")
@click.option("--save", "target", type=click.Path(path_type=Path), help="JSON file for the rounds")
def main(
    dataset: str, folder: Path, rounds: int, names: tuple[str, ...], target: Path | None
) -> None:
    """Measure Trunkline against the stock server, by turns, and keep every round."""
    cases = [CASES[name] for name in names or CASES]
    repositories = {
        name: read_repository(build(name, folder))
        for name in dict.fromkeys([dataset, *(case.dataset or dataset for case in cases)])
    }
    sameness.check(repositories[dataset])
    kept: list[Round] = []
    click.echo(f"{'case':34} {'figure (median)':18} {'hg serve':>16} {'trunkline':>16}    ratio")
    for case in cases:
        repository = repositories[case.dataset or dataset]
        for number in range(rounds):
            for peer in PEERS if number % 2 == 0 else PEERS[::-1]:
                figures = measure(case, peer, repository)
                kept.append({"case": case.name, "peer": peer, "figures": figures})
        show(case, kept)
        if target:
            save(target, kept, dataset, {"changesets": repositories[dataset].changesets})


if __name__ == "__main__":
    main()
