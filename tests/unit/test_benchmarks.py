"""The documents say what was measured, and the made history is one that Mercurial believes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks import report_commit, report_svn
from benchmarks.commit_cases import CASES, DELAYS, WAYS, round_name
from benchmarks.dataset import build, run_hg
from benchmarks.pages import ROOT
from benchmarks.report import RESULTS, put_summary, render


@pytest.mark.parametrize(
    "name", ["docs/benchmarks.md", "docs/benchmarks.svg", "docs/side-by-side.svg"]
)
def test_document_is_what_the_kept_rounds_give(name: str) -> None:
    texts = render(json.loads(RESULTS.read_text()))
    assert (ROOT / name).read_text() == texts[name], "run: python -m benchmarks.report"


@pytest.mark.parametrize("name", ["docs/benchmarks-svn.md", "docs/benchmarks-svn.svg"])
def test_svn_document_is_what_the_kept_rounds_give(name: str) -> None:
    texts = report_svn.render(json.loads(report_svn.RESULTS.read_text()))
    assert (ROOT / name).read_text() == texts[name], "run: python -m benchmarks.report_svn"


@pytest.mark.parametrize("name", ["docs/benchmarks-commit.md", "docs/benchmarks-commit.svg"])
def test_document_of_commits_is_what_the_kept_rounds_give(name: str) -> None:
    if not report_commit.RESULTS.exists():
        pytest.skip("no rounds of commits are kept")
    texts = report_commit.render(json.loads(report_commit.RESULTS.read_text()))
    assert (ROOT / name).read_text() == texts[name], "run: python -m benchmarks.report_commit"


def test_a_run_of_commits_renders() -> None:
    """What took too long is said, and what was scaled."""
    about = {**json.loads(report_svn.RESULTS.read_text()), "rounds": []}
    for case in CASES.values():
        for delay in DELAYS:
            for way in WAYS:
                files = 500 if (case.name, way) == ("import", "stock-apache") else case.files
                wall = 14.0 if case.name == "import" else 0.7
                figures = {"wall_s": wall, "files": float(files)}
                name = round_name(case.name, delay)
                about["rounds"].append({"case": name, "peer": way, "figures": figures})
    texts = report_commit.render(about)
    page = texts["docs/benchmarks-commit.md"]
    assert "in this run: svn, gateway, Trunkline, importing 10,000 files, 150 ms (14.00 s)." in page
    assert "stock svn to Apache, importing 10,000 files, 150 ms: 500 files" in page
    assert ElementTree.fromstring(texts["docs/benchmarks-commit.svg"]).tag.endswith("svg")


def test_readme_table_is_what_the_kept_rounds_give() -> None:
    readme = (ROOT / "README.md").read_text()
    summary = render(json.loads(RESULTS.read_text()))["summary"]
    assert put_summary(readme, summary) == readme, "run: python -m benchmarks.report"


SMALL_TIP = "599 fd93d1cdc1e43c210d3419a7a24053aaf3f3b7c3"


def test_small_history_is_sound_and_the_same_everywhere(tmp_path: Path) -> None:
    repository = build("small", tmp_path, verbose=False)
    run_hg("-R", str(repository), "verify")
    assert run_hg("-R", str(repository), "log", "-r", "tip", "-T", "{rev} {node}") == SMALL_TIP
