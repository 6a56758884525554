"""`python -m benchmarks.report_commit`: the documents that show the kept rounds of commits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import log10
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.commit_cases import BOUNDS, BOUNDS_AT, CASES, SEED, WAYS, Case, Way, round_name
from benchmarks.pages import ROOT, templates, write_pages
from benchmarks.report import MIB

RESULTS = ROOT / "benchmarks" / "results" / "commit.json"
REFERENCE = "stock-apache"
SHORTEST, LONGEST = 0.01, 3000.0  # seconds, of the chart


@dataclass(frozen=True)
class Bar:
    """Seconds of one way. `most` None: nothing was promised."""

    way: Way
    wall: float
    files: int
    most: float | None

    @property
    def is_missed(self) -> bool:
        return self.most is not None and self.wall > self.most

    @property
    def length(self) -> float:
        """0 to 1, by powers of ten."""
        return log10(max(self.wall, SHORTEST) / SHORTEST) / log10(LONGEST / SHORTEST)


@dataclass(frozen=True)
class Group:
    """One case at one delay (milliseconds)."""

    case: Case
    delay: int
    bars: list[Bar]
    seed: tuple[float, float] | None

    def bar(self, way: str) -> Bar | None:
        return next((bar for bar in self.bars if bar.way.name == way), None)

    @property
    def title(self) -> str:
        return f"{self.case.title}, {self.delay} ms"


def values(document: dict[str, Any], case: str, way: str, figure: str) -> list[float]:
    return [
        entry["figures"][figure]
        for entry in document["rounds"]
        if (entry["case"], entry["peer"]) == (case, way) and figure in entry["figures"]
    ]


def groups(document: dict[str, Any]) -> list[Group]:
    found = []
    delays = sorted({int(entry["case"].rpartition("-")[2][:-2]) for entry in document["rounds"]})
    for case in CASES.values():
        for delay in reversed(delays):
            name = round_name(case.name, delay)
            walls = {way: values(document, name, way, "wall_s") for way in WAYS}
            reference = median(walls[REFERENCE]) if walls[REFERENCE] else None
            bars = [
                Bar(
                    WAYS[way],
                    median(found_walls),
                    int(values(document, name, way, "files")[0]),
                    bound(case.name, way, delay, reference),
                )
                for way, found_walls in walls.items()
                if found_walls
            ]
            if bars:
                found.append(Group(case, delay, bars, SEED.get((case.name, delay))))
    return found


def bound(case: str, way: str, delay: int, reference: float | None) -> float | None:
    if delay == BOUNDS_AT:
        return BOUNDS.get((case, way))
    return reference if delay == 0 and WAYS[way].client == "gateway" else None


def render(document: dict[str, Any]) -> dict[str, str]:
    """File name below the project -> its text."""
    environment = templates()
    found = groups(document)
    peaks = [
        entry["figures"].get("gateway_peak_bytes", 0.0)
        for entry in document["rounds"]
        if entry["case"].startswith("import-")
    ]
    told = {
        "about": document,
        "groups": found,
        "ways": [way for way in WAYS if any(group.bar(way) for group in found)],
        "WAYS": WAYS,
        "missed": [(group, bar) for group in found for bar in group.bars if bar.is_missed],
        "scaled": sorted(
            {
                (bar.way.title, group.title, bar.files)
                for group in found
                for bar in group.bars
                if bar.files < group.case.files
            }
        ),
        "rounds": {
            case: max(
                (
                    len(values(document, round_name(case, group.delay), REFERENCE, "wall_s"))
                    for group in found
                ),
                default=0,
            )
            for case in CASES
        },
        "gateway_peak": max(peaks, default=0.0) / MIB,
    }
    return {
        f"docs/benchmarks-commit.{kind}": environment.get_template(
            f"benchmarks-commit.{kind}"
        ).render(told)
        for kind in ("md", "svg")
    }


@click.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True), default=RESULTS)
def main(results: Path) -> None:
    """Write the documents that show RESULTS."""
    write_pages(render(json.loads(results.read_text())))


if __name__ == "__main__":
    main()
