"""Repositories that several modules read; nobody writes to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hg.bundle.writing import add, open_writer
from tests.unit.hg.store.repositories import FORMATS, sample

NODEMAP = "nodemap"


@pytest.fixture(scope="session", params=[*FORMATS, NODEMAP])
def any_format(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in each of the formats."""
    path = tmp_path_factory.mktemp(request.param) / "r"
    if request.param == NODEMAP:
        repo = open_writer(path, format_use__persistent__nodemap="yes")
        add(repo, {b"a": b"1\n", b"Dir/B": b"2\n"})
        add(repo, {b"a": b"3\n"})
        return path
    return sample(path, *FORMATS[request.param])
