"""Clones and pulls while `hg` writes to the same repository: each reply is one true state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.compat.hg import INSTALLED, Session
from tests.compat.history import nodes, verify
from tests.compat.serving import Serve
from tests.compat.sources import Source

ROUNDS = 6


def keep_committing(work: Session, stop: threading.Event, faults: list[BaseException]) -> None:
    """Commits of several files, tags and strips, as fast as they go."""
    step = 0
    try:
        while not stop.is_set():
            step += 1
            for number in range(4):
                work.write(f"busy/{number}", b"%d of step %d\n" % (number, step) * 50)
            work.write(f"busy/new-{step}", b"new\n")
            work.commit(f"busy {step}")
            if step % 5 == 0:
                work("strip", "--no-backup", "--rev", ".")
    except BaseException as fault:  # shown by the test
        faults.append(fault)


@contextmanager
def busy(repository: Path) -> Iterator[None]:
    stop, faults = threading.Event(), list[BaseException]()
    hg = INSTALLED.with_config("extensions.strip=")
    with hg.session(repository) as work:
        work("update", "default")
        thread = threading.Thread(target=keep_committing, args=(work, stop, faults))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
    assert faults == []


@pytest.mark.parametrize("how", ["--pull", "--stream"])
def test_clone_of_a_busy_repository(
    how: str, writable: Source, serve_own: Serve, tmp_path: Path
) -> None:
    """A strip in the middle may break a reply, visibly; a clone that ends well is sound."""
    repository = writable("rich")
    server = serve_own(repository)
    whole = 0
    with busy(repository):
        for count in range(ROUNDS):
            clone = tmp_path / f"clone-{count}"
            done = INSTALLED.run("clone", "--noupdate", how, server.url, clone, expect=None)
            if done.status == 0:
                whole += 1
                verify(INSTALLED, clone)
    assert whole >= ROUNDS // 2
    server.check_log()


def test_pull_from_a_busy_repository(writable: Source, serve_own: Serve, tmp_path: Path) -> None:
    repository, clone = writable("rich"), tmp_path / "clone"
    server = serve_own(repository)
    INSTALLED("clone", "--noupdate", server.url, clone)
    before = len(nodes(INSTALLED, clone))
    with busy(repository):
        for _ in range(ROUNDS):
            INSTALLED.run("pull", server.url, cwd=clone, expect=None)
    INSTALLED("pull", server.url, cwd=clone)
    verify(INSTALLED, clone)
    assert len(nodes(INSTALLED, clone)) > before
    assert set(nodes(INSTALLED, repository)) <= set(nodes(INSTALLED, clone))
    server.check_log()
