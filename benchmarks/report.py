"""`python -m benchmarks.report`: the benchmark documents, from the kept JSON.

Nothing here is typed in by hand: a test renders again and compares.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.cases import CASES, SIDE_BY_SIDE, side_name
from benchmarks.pages import ROOT, templates, write_pages

RESULTS = ROOT / "benchmarks" / "results" / "large.json"
SUMMARY_START, SUMMARY_END = "<!-- bench:summary -->", "<!-- /bench:summary -->"
MIB = 1 << 20


@dataclass(frozen=True)
class Figure:
    """How one measured number is shown; `scale` divides it, `better` says which way is good."""

    name: str
    title: str
    scale: float
    form: str
    better: str


FIGURES = (
    Figure("server_cpu_s", "server CPU, s", 1, "{:.2f}", "less"),
    Figure("client_cpu_s", "client CPU, s", 1, "{:.2f}", "less"),
    Figure("bytes_body", "body, MiB", MIB, "{:.2f}", "less"),
    Figure("first_byte_s", "first byte, ms", 0.001, "{:.0f}", "less"),
    Figure("wall_s", "wall, s", 1, "{:.2f}", "less"),
    Figure("server_peak_bytes", "peak memory of a process, MiB", MIB, "{:.0f}", "less"),
    Figure("bytes_per_s", "all together, MiB/s", MIB, "{:.0f}", "more"),
    Figure("latency_idle_s", "latency of capabilities, idle, ms", 0.001, "{:.2f}", "less"),
    Figure("latency_s", "latency of capabilities, ms", 0.001, "{:.2f}", "less"),
    Figure("cores_at_a_gigabit", "cores busy at 125 MB/s", 1, "{:.2f}", "less"),
    Figure("requests_per_s", "requests/s", 1, "{:.0f}", "more"),
    Figure("cpu_per_request_s", "server CPU a request, ms", 0.001, "{:.3f}", "less"),
)

# Of the README.
COSTS = ("server_cpu_s", "requests_per_s")
SHOWN_WITH_MEMORY = ("clone-zstd-3", "stream")
# Not one connection's pulls: `hg serve` waits 40 ms for TCP's delayed acknowledgements there.
SHOWN = (
    "clone-zstd-3",
    "clone-zlib",
    "clone-none",
    "stream-wide",
    "storm-50",
    "warm",
    "warm-stream-4",
    "no-op-pull-16",
)
SHOWN_BY_TIME = ("push-1", "push-1-later", "push-2000")  # the user waits; Mercurial does the work


@dataclass(frozen=True)
class Row:
    """One figure of one case: medians of both servers, and ours over theirs."""

    case: str
    figure: Figure
    stock: float
    ours: float

    @property
    def ratio(self) -> float:
        return self.ours / self.stock if self.stock else 0.0

    def show(self, value: float) -> str:
        return self.figure.form.format(value / self.figure.scale)


@dataclass(frozen=True)
class Side:
    """So many clients at once: Mbit/s together, and CPU seconds of all that one server did."""

    kind: str
    how: str
    count: int
    stock: float
    ours: float
    stock_cpu: float
    ours_cpu: float
    stock_clients: float
    ours_clients: float


def sides(document: dict[str, Any]) -> list[Side]:
    found = []
    for kind, ways in SIDE_BY_SIDE.items():
        for how in ways:
            for count in range(1, 5):
                rounds = [
                    entry
                    for entry in document["rounds"]
                    if entry["case"] == side_name(kind, how, count)
                ]
                if rounds:
                    figures = [
                        middle(rounds, peer, name)
                        for name in ("mbit_per_s", "server_cpu_s", "client_cpu_s")
                        for peer in ("stock", "trunkline")
                    ]
                    found.append(Side(kind, how, count, *figures))
    return found


def middle(rounds: list[dict[str, Any]], peer: str, name: str) -> float:
    """0 where nothing was measured."""
    figures = [entry["figures"].get(name, 0.0) for entry in rounds if entry["peer"] == peer]
    return float(median(figures))


def is_in_summary(row: Row) -> bool:
    if row.figure.name == "server_peak_bytes":
        return row.case in SHOWN_WITH_MEMORY
    if row.figure.name == "wall_s":
        return row.case in SHOWN_BY_TIME
    return row.figure.name in COSTS and row.case in SHOWN


def rows(document: dict[str, Any]) -> list[Row]:
    found = []
    for case in CASES.values():
        if case.is_side_by_side:
            continue
        is_rate = case.name.startswith("no-op")  # more CPU there only means more requests
        rounds = [entry for entry in document["rounds"] if entry["case"] == case.name]
        for figure in FIGURES:
            if is_rate and figure.name == "server_cpu_s":
                continue
            values = {
                peer: [
                    entry["figures"][figure.name]
                    for entry in rounds
                    if entry["peer"] == peer and figure.name in entry["figures"]
                ]
                for peer in ("stock", "trunkline")
            }
            if all(values.values()) and median(values["stock"]):
                stock, ours = median(values["stock"]), median(values["trunkline"])
                found.append(Row(case.name, figure, stock, ours))
    return found


def render(document: dict[str, Any]) -> dict[str, str]:
    """File name below the project -> its text; the README's part has the key "summary"."""
    environment = templates()
    found = rows(document)
    counts = {
        name: sum(
            entry["case"] == name and entry["peer"] == "stock" for entry in document["rounds"]
        )
        for name in CASES
    }
    most = max(counts.values())
    told: dict[str, Any] = {
        "about": document,
        "cases": CASES,
        "rows": found,
        "sides": sides(document),
        "summary": [row for row in found if is_in_summary(row)],
        "rounds": most,
        "fewer": [CASES[name].title for name, count in counts.items() if 0 < count < most],
    }
    return {
        "docs/benchmarks.md": environment.get_template("benchmarks.md").render(told),
        "docs/benchmarks.svg": environment.get_template("benchmarks.svg").render(told),
        "docs/side-by-side.svg": environment.get_template("side_by_side.svg").render(
            told | {"sides": [side for side in told["sides"] if side.kind == "clients"]}
        ),
        "summary": environment.get_template("summary.md").render(told),
    }


def put_summary(readme: str, summary: str) -> str:
    head, rest = readme.split(SUMMARY_START)
    return f"{head}{SUMMARY_START}\n{summary}{SUMMARY_END}{rest.split(SUMMARY_END)[1]}"


@click.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True), default=RESULTS)
def main(results: Path) -> None:
    """Write the documents that show RESULTS."""
    texts = render(json.loads(results.read_text()))
    readme = ROOT / "README.md"
    readme.write_text(put_summary(readme.read_text(), texts.pop("summary")))
    write_pages(texts)


if __name__ == "__main__":
    main()
