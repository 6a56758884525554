"""The documents say what is there: links resolve, programs and files that they name exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
OWN_PATH = re.compile(r"(?<![\w/.-])(?:\./)?((?:scripts|src|tests|docs|benchmarks)/[\w./-]*\w)")
MODULE = re.compile(r"python -m ([\w.]+)")
KINDS = ("added", "changed", "fixed", "security", "speed")

all_pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def code(page: Path) -> str:
    return "\n".join(CODE.findall(page.read_text()))


@all_pages
def test_links_resolve(page: Path) -> None:
    text = CODE.sub("", page.read_text())
    targets = [target for target in LINK.findall(text) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@all_pages
def test_files_and_modules_named_exist(page: Path) -> None:
    named = OWN_PATH.findall(code(page))
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert [name for name in MODULE.findall(code(page)) if not is_module(name)] == []


def is_module(name: str) -> bool:
    return find_spec(name) is not None


@all_pages
def test_options_named_exist(page: Path) -> None:
    """Of `trunkline serve`, wherever a page shows it with options."""
    shown = re.findall(r"trunkline serve[^`\n]*", code(page))
    options = {option for line in shown for option in re.findall(r"(--[a-z-]+)", line)}
    program = Path(sys.executable).with_name("trunkline")
    if options:
        told = subprocess.run([program, "serve", "--help"], check=True, capture_output=True).stdout
        assert sorted(option for option in options if option.encode() not in told) == []


def test_every_page_is_reachable_from_the_readme() -> None:
    seen: set[Path] = set()
    pending = [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        if page.is_dir():
            pending += page.glob("*.md")
            continue
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        targets = LINK.findall(CODE.sub("", page.read_text()))
        pending += [(page.parent / target).resolve() for target in targets if "://" not in target]
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in seen] == []


def test_dependencies_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    page = (ROOT / "docs" / "dependencies.md").read_text()
    rows = re.findall(r"^\| ([\w-]+) \| [\d.]+ \| ([\w.-]+) \|", page, re.MULTILINE)
    assert [name for name, _ in rows] == [re.split(r"[<>=]", line)[0] for line in wanted]
    for name, licence in rows:
        assert licence.split("-")[0] in licence_of(name), name


def licence_of(name: str) -> str:
    about = metadata(name)
    classifiers = [word for word in about.get_all("Classifier") or [] if "License" in word]
    stated = [*(about.get_all("License-Expression") or []), *(about.get_all("License") or [])]
    return " ".join([*stated, *classifiers])


def test_fragments_have_a_kind_and_say_something() -> None:
    fragments = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    assert fragments
    for path in fragments:
        topic, kind, suffix = path.name.split(".")
        assert (kind in KINDS, suffix) == (True, "md"), path.name
        text = path.read_text()
        assert len(text.split()) >= 5, topic
        assert kind != "speed" or re.search(r"benchmarks/results/[\w-]+\.json", text), path.name
