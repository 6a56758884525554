"""Clones and pulls while the owner commits, amends, strips, rolls back, moves phases and bookmarks.

Each is sound and shows no secret, or breaks visibly; when the owner rests, all is right again.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.compat.history import nodes, verify
from tests.compat.serving import Serve
from tests.compat.test_snapshots_under_writes import SECRET, writing
from tests.compat.warm import WARM

SEEDS = range(int(os.environ.get("TRUNKLINE_RACES", "1")))  # each takes about 15 seconds
CLIENT = WARM.with_config("experimental.evolution=all", "phases.publish=no")
HGRC = "[phases]\npublish = no\n[experimental]\nevolution = all\n"


class Follower:
    """Clones again and again, and pulls into each clone. `said` is what failed with which words."""

    def __init__(self, url: str, folder: Path, how: str) -> None:
        self._url, self._folder, self._how = url, folder, how
        self.sound = 0
        self.said: list[bytes] = []

    def follow(self, writer: threading.Thread) -> None:
        count = 0
        while writer.is_alive():
            count += 1
            clone = self._folder / f"{self._how.strip('-')}-{count}"
            if self._is_well("clone", "-qU", self._how, self._url, clone):
                self._examine(clone)
                if self._is_well("-R", clone, "pull", "-q", self._url):
                    self._examine(clone)

    def _is_well(self, *command: str | Path) -> bool:
        done = CLIENT.run(*command, expect=None)
        assert b"Traceback" not in done.err, done.err
        if done.status != 0:
            self.said.append(done.err)
        return done.status == 0

    def _examine(self, clone: Path) -> None:
        self.sound += 1
        verify(CLIENT, clone)
        told = CLIENT("log", "--hidden", "-T", "{desc}\n", cwd=clone).splitlines()
        assert SECRET not in told


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_client_gets_of_a_repository_that_moves_is_sound(
    seed: int, serve_own: Serve, tmp_path: Path
) -> None:
    path = tmp_path / "repo"
    WARM("init", path)
    (path / ".hg/hgrc").write_text(HGRC)
    server = serve_own(path)
    followers = [Follower(server.url, tmp_path, how) for how in ("--pull", "--stream")]
    with writing(path, seed) as writer, ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda follower: follower.follow(writer), followers):
            pass
    server.check_log()
    for follower in followers:
        assert follower.sound > 2 * len(follower.said), (follower.sound, follower.said)
    verify(WARM, path)
    CLIENT("clone", "-qU", server.url, tmp_path / "last")
    verify(CLIENT, tmp_path / "last")
    served = nodes(CLIENT, path, "not secret()")
    # With hidden ones: what the owner stands on is served though it is obsolete.
    assert sorted(nodes(CLIENT, tmp_path / "last", hidden=True)) == sorted(served)
