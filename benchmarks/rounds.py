"""Two servers by turns: the raw rounds, what is shown of them, and what is kept."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, TypedDict

import click

PEERS = ("stock", "trunkline")
TITLE_WIDTH = 50

Figures = dict[str, float]


class Round(TypedDict):
    case: str
    peer: str
    figures: Figures


def take_turns(name: str, rounds: int, measure: Callable[[str], Figures]) -> list[Round]:
    """`measure` is asked with a peer; who begins changes from round to round."""
    return [
        {"case": name, "peer": peer, "figures": measure(peer)}
        for number in range(rounds)
        for peer in (PEERS if number % 2 == 0 else PEERS[::-1])
    ]


def show_head(stock: str) -> None:
    click.echo(
        f"{'case':{TITLE_WIDTH}} {'figure (median)':18} {stock:>16} {'trunkline':>16}    ratio"
    )


def show(title: str, rounds: list[Round]) -> None:
    """One line a figure of one case: both medians and their ratio."""
    for name in rounds[0]["figures"]:
        stock, ours = (
            median(entry["figures"][name] for entry in rounds if entry["peer"] == peer)
            for peer in PEERS
        )
        ratio = f"{ours / stock:8.3f}x" if stock else "        -"
        click.echo(f"{title:{TITLE_WIDTH}} {name:18} {stock:16,.3f} {ours:16,.3f} {ratio}")


def save(path: Path, rounds: list[Round], versions: dict[str, str], **about: Any) -> None:
    """`versions`: of the stock server's side. `about`: what else the documents say."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    ours = {name: version(name) for name in ("trunkline", "granian")}
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "versions": {**ours, **versions},
        "machine": machine(),
        **about,
        "rounds": rounds,
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


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
