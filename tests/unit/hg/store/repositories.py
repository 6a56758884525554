"""Small repositories in each format, made by the installed Mercurial, which is also the oracle."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercurial import hg as hg_module
from mercurial import ui as ui_module
from tests.compat.hg import Session
from tests.compat.warm import WARM

from trunkline.hg.store.repository import Repository

FORMATS: dict[str, tuple[str, ...]] = {
    "default": (),
    "zlib": ("format.revlog-compression=zlib",),
    "uncompressed": ("format.revlog-compression=none",),
    "no-generaldelta": ("format.usegeneraldelta=no", "format.sparse-revlog=no"),
    "no-dotencode": ("format.dotencode=no",),
    "no-fncache": ("format.usefncache=no",),
    "share-safe-off": ("format.use-share-safe=no",),
    "bookmarks-in-store": ("format.bookmarks-in-store=yes",),
}


def make(path: Path, *config: str) -> Path:
    WARM.with_config(*config)("init", path)
    return path


@contextmanager
def writing(path: Path, *config: str) -> Iterator[Session]:
    with WARM.with_config(*config).session(path) as hg:
        yield hg


def commit(hg: Session, path: Path, files: dict[str, bytes], message: str, *more: str) -> str:
    """The hex node of a new changeset."""
    for name, data in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    hg("commit", "-qA", "-m", message, "-u", "test", "-d", "0 0", *more)
    return hg("log", "-r", ".", "-T", "{node}").decode()


def sample(path: Path, *config: str) -> Path:
    """Merges, a file that outgrows the inline form, odd names, an empty file."""
    make(path, *config)
    noise = b"".join(os.urandom(48).hex().encode() + b"\n" for _ in range(3500))
    with writing(path) as hg:
        commit(hg, path, {"a": b"a\n", "dir/UPPER_case": b"u\n", "empty": b""}, "one")
        commit(hg, path, {"a": b"a\nb\n", "big": noise, ".hidden/aux.txt": b"x\n"}, "two")
        commit(hg, path, {"big": noise + b"tail\n", "d" * 90 + "/" + "e" * 60: b"long\n"}, "three")
        commit(hg, path, {"big": b"head\n" + noise[::-1]}, "four")
        hg("update", "-q", "-r", "1")
        hg("branch", "-q", "other")
        commit(hg, path, {"a": b"a\nb\nc\n", "nul": b"\0binary\0" * 9}, "five \u00e9 \\0 \n\nmore")
        hg("merge", "-q", "-r", "3")
        commit(hg, path, {}, "six")
        hg("copy", "-q", "a", "copied")
        commit(hg, path, {}, "seven", "--close-branch")
    return path


def oracle(path: Path) -> Any:
    """Mercurial's own unfiltered repository object."""
    os.environ["HGRCPATH"] = ""
    ui = ui_module.ui.load()
    return hg_module.repository(ui, os.fsencode(path)).unfiltered()


def tracked(repo: Any) -> list[bytes]:
    """Each path that any changeset names."""
    return sorted({name for rev in repo for name in repo[rev].files()})


def opened(path: Path) -> Repository:
    return Repository(str(path))
