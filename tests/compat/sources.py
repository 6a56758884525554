"""The repositories that clients clone, each made once a run by the installed Mercurial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.compat.hg import INSTALLED

Source = Callable[[str], Path]
Builder = Callable[[Path, Source], None]

BUILDERS: dict[str, Builder] = {}


def builder(build: Builder) -> Builder:
    """Make `build(target, source)` known by its name; `source` gives another repository's path."""
    BUILDERS[build.__name__] = build
    return build


@builder
def seed(target: Path, source: Source) -> None:
    """The server of the first seed's transcript: one changeset, e93700bd7289."""
    INSTALLED("init", target)
    (target / "a").touch()
    INSTALLED("commit", "--quiet", "--addremove", "--message", "initial", cwd=target)


@builder
def empty(target: Path, source: Source) -> None:
    INSTALLED("init", target)
