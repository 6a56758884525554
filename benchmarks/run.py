"""`python -m benchmarks.run`: Trunkline and `hg serve` by turns, every raw round kept as JSON."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

import click

from benchmarks import process, sameness
from benchmarks.cases import CASES, Case, Repository
from benchmarks.dataset import build, run_hg, without_newest
from benchmarks.reader import Connection
from benchmarks.rounds import Figures, Round, save, show, show_head, take_turns


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
    show_head("hg serve")
    for case in cases:
        repository = repositories[case.dataset or dataset]
        found = take_turns(case.name, rounds, partial(measure, case, repository=repository))
        kept += found
        show(case.title, found)
        if target:
            about = {"name": dataset, "changesets": repositories[dataset].changesets}
            save(target, kept, {"mercurial": version("mercurial")}, dataset=about)


if __name__ == "__main__":
    main()
