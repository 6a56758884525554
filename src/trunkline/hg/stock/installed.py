"""The Mercurial that is installed beside us: where its `hg` is and what environment it gets."""

from __future__ import annotations

import os
import shutil
import sys
from functools import lru_cache

from trunkline.errors import StoreError

# What a server must not hand down: another program's idea of how it runs.
_NOT_FOR_HG = frozenset({"GATEWAY_INTERFACE", "HGPLAINEXCEPT", "REMOTE_ADDR", "REMOTE_USER"})


def find_hg(named: str | None = None) -> str:
    """Path of the `hg` to run: the one the operator named, else beside our Python, else in PATH.

    Beside our Python comes first because that one is the version that our own tests ran with.
    Raises: StoreError, one line that says what to do.
    """
    if named:
        found = shutil.which(named)
        if found is None:
            raise StoreError(f"no program at {named!r}: the setting must name Mercurial's `hg`")
        return os.path.abspath(found)
    return _find_unnamed(os.path.dirname(sys.executable), os.environ.get("PATH"))


@lru_cache(maxsize=8)
def _find_unnamed(beside: str, path: str | None) -> str:
    found = shutil.which("hg", path=beside) or shutil.which("hg", path=path)
    if found is None:
        raise StoreError(
            "Mercurial is missing: no `hg` beside Python or in PATH"
            " (install it with `pip install mercurial`)"
        )
    return os.path.abspath(found)


def child_environment() -> dict[str, str]:
    """Environment of an `hg` that we start.

    HGPLAIN: no aliases, no translated or coloured words. HGENCODING: the wire is UTF-8 whatever
    the locale; hooks inherit both. HGRCPATH and the like pass, they are the operator's.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_HG}
    environment.update(HGPLAIN="1", HGENCODING="utf-8")
    return environment
