"""`python -m benchmarks.report_svn`: the documents that show the kept rounds of Subversion."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.pages import ROOT, templates, write_pages
from benchmarks.report import FIGURES, Figure
from benchmarks.svn_cases import CASES

RESULTS = ROOT / "benchmarks" / "results" / "svn.json"
SHOWN = ("wall_s", "server_cpu_s", "client_cpu_s", "server_peak_bytes")


@dataclass(frozen=True)
class Row:
    """One figure of one case: medians of both servers, and the median of ours over theirs."""

    case: str
    figure: Figure
    stock: float
    ours: float
    ratio: float

    def show(self, value: float) -> str:
        return self.figure.form.format(value / self.figure.scale)


def values(document: dict[str, Any], case: str, peer: str, figure: str) -> list[float]:
    return [
        entry["figures"][figure]
        for entry in document["rounds"]
        if entry["case"] == case and entry["peer"] == peer
    ]


def rows(document: dict[str, Any]) -> list[Row]:
    figures = {figure.name: figure for figure in FIGURES}
    found = []
    for case in CASES:
        for name in SHOWN:
            stock = values(document, case, "stock", name)
            ours = values(document, case, "trunkline", name)
            if stock and all(stock):
                ratio = median(mine / theirs for mine, theirs in zip(ours, stock, strict=True))
                found.append(Row(case, figures[name], median(stock), median(ours), ratio))
    return found


def render(document: dict[str, Any]) -> dict[str, str]:
    """File name below the project -> its text."""
    environment = templates()
    found = rows(document)
    counts = {name: len(values(document, name, "stock", "wall_s")) for name in CASES}
    most = max(counts.values())
    told = {
        "about": document,
        "cases": CASES,
        "rows": found,
        "rounds": most,
        "fewer": [CASES[name].title for name, count in counts.items() if 0 < count < most],
        "missed": [
            f"{CASES[row.case].title} ({row.ratio:.2f}, at most {CASES[row.case].most})"
            for row in found
            if row.figure.name == "wall_s" and row.ratio > CASES[row.case].most
        ],
    }
    return {
        f"docs/benchmarks-svn.{kind}": environment.get_template(f"benchmarks-svn.{kind}").render(
            told
        )
        for kind in ("md", "svg")
    }


@click.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True), default=RESULTS)
def main(results: Path) -> None:
    """Write the documents that show RESULTS."""
    write_pages(render(json.loads(results.read_text())))


if __name__ == "__main__":
    main()
