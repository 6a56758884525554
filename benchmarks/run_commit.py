"""`python -m benchmarks.run_commit`: commits over a slow link, by stock `svn`, by the gateway and
by the client library, to Apache and to Trunkline; every raw round kept as JSON.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

import click

from benchmarks.commit_cases import (
    CASES,
    DELAYS,
    STOCK_IMPORT_FILES,
    WAYS,
    Case,
    Way,
    round_name,
)
from benchmarks.commit_site import Far, own, sites
from benchmarks.process import peak_bytes
from benchmarks.rounds import TITLE_WIDTH, Figures, Round, save
from benchmarks.run_svn import versions
from benchmarks.svn_cases import WRITTEN
from benchmarks.svn_dataset import FILES_IN_FOLDER, SEED, prose
from trunkline.svn.client import commit_files, files_below

TREE_FILES = 40  # of the repository that is committed to, besides imports
REPOSITORY = "r"


def write_tree(folder: Path, files: int) -> Path:
    """The first so many files of a tree that is always the same: 100 in each folder."""
    dice = random.Random(SEED)
    for number in range(files):
        place = folder / f"d{number // FILES_IN_FOLDER:03}"
        place.mkdir(parents=True, exist_ok=True)
        text = prose(dice, int(dice.lognormvariate(7, 1)))
        (place / f"file{number % FILES_IN_FOLDER:03}.txt").write_bytes(text)
    return folder


def svn(folder: Path, *words: str) -> None:
    subprocess.run(
        ["svn", "--non-interactive", "--config-dir", str(folder / "config"), *words],
        env={**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        check=True,
    )


def youngest(far: Far) -> int:
    return int(subprocess.check_output(["svnlook", "youngest", str(far.root / REPOSITORY)]))


def changed(far: Far) -> int:
    """Files that the newest revision changes."""
    said = subprocess.check_output(["svnlook", "changed", str(far.root / REPOSITORY)])
    return sum(not line.endswith(b"/") for line in said.splitlines())


class Workplace:
    """One repository of one server, a working copy of it, and who commits: `way`."""

    def __init__(self, folder: Path, far: Far, way: Way) -> None:
        self.folder, self.far, self.way = folder, far, way
        self.url = f"{far.url}/{REPOSITORY}/{way.name}"
        self.options = far.proxy if way.client == "gateway" else []
        self.copy = folder / "copy"
        folder.mkdir()

    def measure(self, case: Case, stock_files: int, imported: int) -> Figures:
        files = imported if case.is_import else case.files
        if case.is_import and self.way.client == "stock" and self.far.url != self._near():
            files = min(files, stock_files)
        work = self._prepare(case, files)
        before = youngest(self.far)
        cpu, used = self.far.server.cpu_seconds(), getrusage(RUSAGE_CHILDREN)
        begun = time.perf_counter()
        work()
        wall, after = time.perf_counter() - begun, getrusage(RUSAGE_CHILDREN)
        assert (youngest(self.far), changed(self.far)) == (before + 1, files), "not committed"
        figures = {
            "wall_s": wall * case.files / files if case.is_import else wall,
            "files": float(files),
            "client_cpu_s": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime,
            "server_cpu_s": self.far.server.cpu_seconds() - cpu,
        }
        if self.way.client == "gateway":
            figures["gateway_peak_bytes"] = float(peak_bytes(self.far.gateway_pid))
        return figures

    def _near(self) -> str:
        return self.far.server.url.rstrip("/")

    def _prepare(self, case: Case, files: int) -> Callable[[], object]:
        if case.is_import:
            tree = self.folder / "tree"
            shutil.rmtree(tree, ignore_errors=True)
            write_tree(tree, files)
            target = f"{self.url}/import-{time.monotonic_ns()}"
            if self.way.client == "library":
                svn(self.folder, "mkdir", "-q", "-m", "m", target)
                return lambda: commit_files(target, files_below(tree), "m")
            return lambda: svn(
                self.folder, "import", "-q", "-m", "m", str(tree), target, *self.options
            )
        if not self.copy.exists():
            svn(self.folder, "checkout", "-q", self.url, str(self.copy))
        paths = sorted(path for path in self.copy.glob("d*/*.txt"))[:files]
        for path in paths:
            path.write_bytes(path.read_bytes() + f"{time.monotonic_ns()}\n".encode())
        if self.way.client == "library":
            texts = {path.relative_to(self.copy).as_posix(): path for path in paths}
            return lambda: commit_files(self.url, texts, "m")
        return lambda: svn(self.folder, "commit", "-q", "-m", "m", str(self.copy), *self.options)


def make_repository(far: Far, folder: Path, ways: list[Way]) -> None:
    """A folder for each of the `ways` that go there."""
    disk = far.root / REPOSITORY
    subprocess.run(["svnadmin", "create", str(disk)], check=True)
    tree = write_tree(folder / "start", TREE_FILES)
    for way in ways:
        if way.server == far.server.name:
            svn(folder, "import", "-q", "-m", "m", str(tree), f"{disk.as_uri()}/{way.name}")
    shutil.rmtree(tree)
    if far.server.name != "trunkline":
        own(disk)


def run_delay(
    delay: int, cases: list[Case], ways: list[Way], rounds: int, stock_files: int, imported: int
) -> list[Round]:
    """All ways by turns, over links of one length."""
    kept: list[Round] = []
    names = tuple(dict.fromkeys(way.server for way in ways))
    with (
        tempfile.TemporaryDirectory(prefix="trunkline-bench-", dir=WRITTEN) as folder,
        sites(delay, names) as far,
    ):
        for name in names:
            make_repository(far[name], Path(folder), ways)
        places = [Workplace(Path(folder) / way.name, far[way.server], way) for way in ways]
        for place in places:  # the first commit of each isn't counted
            place.measure(Case("warm", "", 1, False), 1, 1)
        for case in cases:
            for number in range(rounds):
                for place in places[:: 1 if number % 2 == 0 else -1]:
                    figures = place.measure(case, stock_files, imported)
                    name = round_name(case.name, delay)
                    kept.append({"case": name, "peer": place.way.name, "figures": figures})
                    click.echo(
                        f"{name:20} {place.way.title:{TITLE_WIDTH}} {figures['wall_s']:9.3f} s"
                    )
    return kept


@click.command()
@click.option("--rounds", default=3, show_default=True)
@click.option("--import-rounds", default=1, show_default=True, help="of the import, by turns too")
@click.option("--case", "cases", multiple=True, type=click.Choice(list(CASES)))
@click.option("--way", "ways", multiple=True, type=click.Choice(list(WAYS)))
@click.option("--ms", "delays", multiple=True, type=int, help="there and back")
@click.option("--stock-files", default=STOCK_IMPORT_FILES, show_default=True)
@click.option("--files", default=CASES["import"].files, show_default=True, help="of the import")
@click.option("--save", "target", type=click.Path(path_type=Path), help="JSON file for the rounds")
def main(
    rounds: int,
    import_rounds: int,
    cases: tuple[str, ...],
    ways: tuple[str, ...],
    delays: tuple[int, ...],
    stock_files: int,
    files: int,
    target: Path | None,
) -> None:
    """Measure commits over slow links, by turns, and keep every round. Walls of an import of fewer
    files than 10,000 are scaled.
    """
    kept: list[Round] = []
    asked = [WAYS[name] for name in ways or WAYS]
    for delay in delays or DELAYS:
        for case in [CASES[name] for name in cases or CASES]:
            count = import_rounds if case.is_import else rounds
            kept += run_delay(delay, [case], asked, count, stock_files, files)
            if target:
                save(target, kept, versions())
    show(kept)


def show(kept: list[Round]) -> None:
    click.echo("\nmedians, seconds")
    for name in dict.fromkeys(entry["case"] for entry in kept):
        for way in WAYS.values():
            walls = [
                entry["figures"]["wall_s"]
                for entry in kept
                if (entry["case"], entry["peer"]) == (name, way.name)
            ]
            if walls:
                click.echo(f"{name:20} {way.title:{TITLE_WIDTH}} {median(walls):9.3f}")


if __name__ == "__main__":
    main()
