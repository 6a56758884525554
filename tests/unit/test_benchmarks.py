"""The documents say what was measured, and the made history is one that Mercurial believes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.dataset import build, run_hg
from benchmarks.report import RESULTS, ROOT, put_summary, render


@pytest.mark.parametrize(
    "name", ["docs/benchmarks.md", "docs/benchmarks.svg", "docs/side-by-side.svg"]
)
def test_document_is_what_the_kept_rounds_give(name: str) -> None:
    texts = render(json.loads(RESULTS.read_text()))
    assert (ROOT / name).read_text() == texts[name], "run: python -m benchmarks.report"


def test_readme_table_is_what_the_kept_rounds_give() -> None:
    readme = (ROOT / "README.md").read_text()
    summary = render(json.loads(RESULTS.read_text()))["summary"]
    assert put_summary(readme, summary) == readme, "run: python -m benchmarks.report"


SMALL_TIP = "599 fd93d1cdc1e43c210d3419a7a24053aaf3f3b7c3"


def test_small_history_is_sound_and_the_same_everywhere(tmp_path: Path) -> None:
    repository = build("small", tmp_path, verbose=False)
    run_hg("-R", str(repository), "verify")
    assert run_hg("-R", str(repository), "log", "-r", "tip", "-T", "{rev} {node}") == SMALL_TIP
