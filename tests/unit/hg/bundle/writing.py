"""Mercurial's own writer inside this process, so that a test can stop it at any point."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mercurial import context, repair
from mercurial import hg as hg_module
from mercurial import ui as ui_module

SETTINGS = {
    ("ui", "quiet"): "yes",
    ("phases", "publish"): "no",
    # Chunks as large as the texts, so that a test knows when a revlog outgrows its inline form.
    ("format", "revlog-compression"): "none",
    ("storage", "revlog.persistent-nodemap.slow-path"): "allow",
}


def open_writer(path: Path, **more: str) -> Any:
    """`format_dotencode="no"` is `format.dotencode=no`. The repository is made if need be."""
    os.environ["HGRCPATH"] = ""
    ui = ui_module.ui.load()
    ui.setconfig(b"ui", b"username", b"test", b"tests")
    settings = dict(SETTINGS)
    for name, value in more.items():
        section, _, key = name.partition("_")
        settings[section, key.replace("__", "-")] = value
    for (section, key), value in settings.items():
        ui.setconfig(section.encode(), key.encode(), value.encode(), b"tests")
    return hg_module.repository(ui, os.fsencode(path), create=not path.exists()).unfiltered()


def add(repo: Any, files: Mapping[bytes, bytes], message: bytes = b"more") -> bytes:
    """A changeset on the tip; the caller may have a transaction open. Gives its node."""

    def file(_repo: Any, changeset: Any, name: bytes) -> Any:
        return context.memfilectx(repo, changeset, name, files[name])

    tip = repo[b"tip"].node()
    made: bytes = repo.commitctx(
        context.memctx(repo, [tip, None], message, sorted(files), file, user=b"test", date=(0, 0))
    )
    return made


def strip_tip(repo: Any) -> None:
    with repo.wlock(), repo.lock():
        repair.strip(repo.ui, repo, [repo[b"tip"].node()], backup=False)
