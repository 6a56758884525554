"""Arrows between folders point one way; only the shell awaits. See docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

# Values that everyone may name; they import nothing but one another.
VOCABULARY = (
    "trunkline.errors",
    "trunkline.quoting",
    "trunkline.reply",
    "trunkline.work",
    "trunkline.hg.node",
    "trunkline.config.hgconfig",
)
# A module may import from folders further down than its own, never from further up.
FOLDERS = (
    "trunkline.cli",
    "trunkline.http",
    "trunkline.web",
    "trunkline.bundles",
    "trunkline.svn.gateway",
    "trunkline.svn.client",
    "trunkline.svn.dav",
    "trunkline.svn.txn",
    "trunkline.svn.commit",
    "trunkline.svn.repository",
    "trunkline.spool",
    "trunkline.hg.wire",
    "trunkline.hg.bundle",
    "trunkline.hg.large",
    "trunkline.hg.stock",
    "trunkline.access",
    "trunkline.config",
    "trunkline.compression",
    "trunkline.hg.store",
    "trunkline.hg.history",
)
ENTRY = ("trunkline", "trunkline.__main__", "trunkline.hg", "trunkline.svn")


def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def imported(module: str) -> Iterator[str]:
    """Every module named in an import, those inside functions too."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                longer = f"{node.module}.{alias.name}"
                yield longer if longer in MODULES else node.module


def layer(module: str) -> int | None:
    """Its place from the top; None for what belongs to no folder."""
    if module in VOCABULARY:
        return len(FOLDERS)
    for place, folder in enumerate(FOLDERS):
        if module == folder or module.startswith(folder + "."):
            return place
    return None


def test_every_module_has_its_place() -> None:
    assert len(MODULES) > 50
    assert [name for name in MODULES if layer(name) is None and name not in ENTRY] == []


@pytest.mark.parametrize("module", sorted(set(MODULES) - set(ENTRY)))
def test_arrows_point_down(module: str) -> None:
    mine = layer(module)
    assert mine is not None
    for other in imported(module):
        theirs = layer(other)
        if theirs is None or same_folder(module, other):
            continue
        assert theirs > mine or module in VOCABULARY, f"{module} imports {other}"
        if module in VOCABULARY:
            assert other in VOCABULARY, f"{module} imports {other}"


def same_folder(module: str, other: str) -> bool:
    return module not in VOCABULARY and layer(module) == layer(other)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_only_http_and_the_gateway_await(module: str) -> None:
    """Cores take and return values; no socket, no event loop."""
    if module.startswith(("trunkline.http", "trunkline.svn.gateway")):
        return
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert not any(isinstance(node, waiting) for node in ast.walk(tree(module)))
    roots = {name.partition(".")[0] for name in imported(module)}
    assert roots.isdisjoint({"asyncio", "socket", "granian", "socketserver"})
