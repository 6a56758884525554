"""Large requests and answers in bounded memory. `TRUNKLINE_LARGE=1`: of 200,000 entries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit.svn.wide import make_wide

FOLDERS = 10 if os.environ.get("TRUNKLINE_LARGE") else 1
FILES = 20_000
TOP = Path(__file__).parents[3]
MIB = 1024 * 1024
GROWN = 24 * MIB  # at most: an answer, or what a report says, would take more


def test_memory_is_bounded(tmp_path: Path) -> None:
    make_wide(tmp_path / "wide", FOLDERS, FILES)
    words = (str(tmp_path / "wide"), str(tmp_path / "area"), str(FOLDERS), str(FILES))
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.svn.peak", *words],
        cwd=TOP,
        check=True,
        capture_output=True,
    )
    found = json.loads(done.stdout)
    assert found["report"]["sent"] > FOLDERS * FILES * 30
    assert found["update"]["got"] > FOLDERS * FILES * 300
    assert found["folder"]["got"] > 20 * MIB
    assert all(asked["grown"] < GROWN for asked in found.values()), found
