"""Clones and pulls while `hg` writes to the same repository: each reply is one true state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.compat.hg import Session
from tests.compat.history import PUBLISHED, assert_same, nodes, verify
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.compat.warm import WARM

ROUNDS = 6
WHOLE, MOST = 3, 20  # clones: a strip falls between the questions of one in a few
# What was stripped is asked for; the reply, or what was read for it, ended in the middle.
BROKEN = (
    b"abort: unknown revision '",
    b"abort: stream ended unexpectedly",
    b"abort: HTTP request error (incomplete response",
    b"HTTP Error 500",
)
STREAMING = b"streaming all changes"


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
    hg = WARM.with_config("extensions.strip=")
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
    whole = count = 0
    with busy(repository):
        while whole < WHOLE:
            clone = tmp_path / f"clone-{count}"
            done = WARM.run("clone", "--noupdate", how, server.url, clone, expect=None)
            count += 1
            if done.status == 0:
                whole += 1
                assert (STREAMING in done.out) == (how == "--stream")
                verify(WARM, clone)
            else:
                assert any(words in done.err for words in BROKEN), done
                assert count < MOST
    server.check_log()


def test_pull_from_a_busy_repository(writable: Source, serve_own: Serve, tmp_path: Path) -> None:
    repository, clone = writable("rich"), tmp_path / "clone"
    server = serve_own(repository)
    WARM("clone", "--noupdate", server.url, clone)
    before = len(nodes(WARM, clone))
    with busy(repository):
        for _ in range(ROUNDS):
            WARM.run("pull", server.url, cwd=clone, expect=None)
    WARM("pull", server.url, cwd=clone)
    verify(WARM, clone)
    assert len(nodes(WARM, clone)) > before
    assert set(nodes(WARM, repository)) <= set(nodes(WARM, clone))
    server.check_log()


PUSHES = 4
OPEN = ("--config", "web.allow-push=*", "--config", "web.push_ssl=no")


def keep_pushing(
    work: Path, url: str, done: threading.Event, pushed: list[str], faults: list[BaseException]
) -> None:
    try:
        with WARM.session(work) as own:
            for step in range(PUSHES):
                own.write(f"pushed-{step}", b"%d\n" % step * 1000)
                own.commit(f"pushed {step}")
                own("push", url)
                pushed.append(own("log", "--rev", ".", "--template", "{node}").decode())
    except BaseException as fault:  # shown by the test
        faults.append(fault)
    finally:
        done.set()


@pytest.mark.parametrize("how", ["--pull", "--stream"])
def test_clones_while_another_client_pushes(
    how: str, writable: Source, serve_own: Serve, tmp_path: Path
) -> None:
    """Each clone is sound and holds what was pushed before it began; nobody is refused."""
    repository, work = writable("rich"), tmp_path / "work"
    server = serve_own(repository, *OPEN)
    WARM("clone", "--updaterev", "default", repository, work)
    done, pushed, faults = threading.Event(), list[str](), list[BaseException]()
    thread = threading.Thread(target=keep_pushing, args=(work, server.url, done, pushed, faults))
    thread.start()
    clones = 0
    try:
        while not done.is_set() or clones < 2:
            before, clone = list(pushed), tmp_path / f"clone-{clones}"
            said = WARM("clone", "--noupdate", how, server.url, clone)
            assert (STREAMING in said) == (how == "--stream")
            verify(WARM, clone)
            assert set(before) <= set(nodes(WARM, clone))
            clones += 1
    finally:
        thread.join()
    assert faults == []
    WARM("clone", "--noupdate", how, server.url, tmp_path / "last")
    assert len(pushed) == PUSHES
    assert_same(WARM, tmp_path / "last", repository, without=[*PUBLISHED, b"tag: +local-tag"])
    server.check_log()
