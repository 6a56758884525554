"""Readers meet a real `hg` that commits, amends, strips, rolls back and moves phases all the time.

Every snapshot must be whole: parents, manifests and file revisions there, what is secret or
rewritten out of the served view. What a strip or rollback takes away while it is being read must
be noticed, by a failing read or at last by `check`.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.compat.hg import HgFailed
from tests.compat.warm import WARM

from trunkline.errors import StoreError
from trunkline.hg.store.changelog import parse_changeset
from trunkline.hg.store.manifest import find
from trunkline.hg.store.repository import Repository
from trunkline.hg.store.snapshot import Snapshot

STEPS = 100
LOOK_SECONDS = 60
SECRET = b"secret"  # the description of what must never be served
CONFIG = (
    "ui.username=test",
    "experimental.evolution=all",
    "extensions.strip=",
    "phases.publish=no",
    "ui.rollback=yes",
    "devel.default-date=0 0",
)


class Writer:
    """One warm `hg`, and what it does at each step."""

    def __init__(self, path: Path, seed: int, looks: threading.Semaphore | None) -> None:
        """`looks`: released by the reader for each of its own; there is no more than one step
        for each.
        """
        self._path = path
        self._hg = WARM.with_config(*CONFIG).session(path)
        self._random = random.Random(seed)
        self.count = 0
        self._looks = looks

    def commit(self, *options: str, message: str = "draft") -> None:
        self.count += 1
        for number in self._random.sample(range(8), 3):
            size = self._random.choice((10, 1000, 70_000))
            data = self._random.randbytes(size) + b"%d\n" % self.count
            (self._path / f"file{number}").write_bytes(data)
        self._hg("commit", "-qA", "-m", message, *options)

    def secret(self) -> None:
        self.commit("--secret", message="secret")

    def amend(self) -> None:
        self.commit("--amend")

    def strip(self) -> None:
        self._hg("strip", "-q", "--no-backup", "-r", f"max(0, tip) - {self._random.randrange(3)}")

    def strip_some(self) -> None:
        rev = self._random.choice(self._revs("last(all(), 6)"))
        self._hg("strip", "-q", "--no-backup", "-f", "-r", rev)

    def update(self) -> None:
        self._hg("update", "-qC", "-r", self._random.choice(self._revs("last(not secret(), 5)")))

    def phase(self) -> None:
        self._hg("phase", "-p", "-r", self._random.choice(self._revs("first(not secret(), 9)")))

    def hide(self) -> None:
        self._hg("phase", "-s", "-f", "-r", "desc('secret') or last(draft())")

    def bookmark(self) -> None:
        self._hg("bookmark", "-f", "-r", self._random.choice(self._revs("last(all(), 5)")), "mark")

    def rollback(self) -> None:
        self._hg("rollback", "-q", "-f")

    def _revs(self, revset: str) -> list[str]:
        return self._hg("log", "-r", revset, "-T", "{rev} ").decode().split()

    def run(self) -> None:
        verbs = [self.commit] * 5 + [self.secret] * 2 + [self.amend] * 3 + [self.update] * 2
        verbs += [self.strip_some, self.phase, self.hide, self.bookmark, *[self.rollback] * 4]
        for _ in range(STEPS):
            if self._looks is not None:
                self._looks.acquire(timeout=LOOK_SECONDS)
            try:
                self._random.choice(verbs)()
            except (HgFailed, IndexError):  # a step that isn't possible just now
                continue

    def close(self) -> None:
        self._hg.close()


@contextmanager
def writing(
    path: Path, seed: int, looks: threading.Semaphore | None = None
) -> Iterator[threading.Thread]:
    writer = Writer(path, seed, looks)
    writer.commit()
    thread = threading.Thread(target=writer.run)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()
        writer.close()


def examine(snapshot: Snapshot) -> None:
    """Raises: AssertionError where something is missing; StoreError where it can't be read."""
    changelog, manifest, view = snapshot.changelog, snapshot.manifest(), snapshot.view("served")
    texts = [parse_changeset(text) for text in changelog.texts(range(changelog.count))]
    manifest_revs = manifest.revs([text.manifest for text in texts])
    assert (manifest_revs != -2).all()
    visible = [rev for rev in range(changelog.count) if view.rev(changelog.node(rev)) is not None]
    assert not [rev for rev in visible if texts[rev].description == SECRET]
    for rev in visible:
        parents = [parent for parent in changelog.parents(rev) if parent >= 0]
        assert all(parent < rev for parent in parents)
        assert all(view.rev(changelog.node(parent)) is not None for parent in parents)
    for rev in range(max(0, changelog.count - 4), changelog.count):
        text = manifest.text(int(manifest_revs[rev]))
        for path in texts[rev].files:
            line = find(text, path)
            filelog = snapshot.filelog(path)
            assert filelog is not None
            if line is not None:
                file_rev = filelog.rev(line.node)
                assert file_rev is not None
                filelog.text(file_rev)
            assert all(row[4] < changelog.count for row in filelog.rows())


@pytest.mark.parametrize("seed", range(2))
def test_no_snapshot_is_torn(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "repo"
    WARM("init", path)
    seen: set[bytes] = set()
    broken = 0
    looks = threading.Semaphore(0)
    with writing(path, seed, looks) as thread:
        repository = Repository(str(path))
        while thread.is_alive():
            snapshot = repository.snapshot()
            looks.release()
            seen.add(snapshot.key)
            try:
                examine(snapshot)
            except StoreError:  # a visible failure: cut away under the reader
                broken += 1
            except AssertionError:
                with pytest.raises(StoreError):
                    snapshot.check()
                broken += 1
    examine(repository.snapshot())
    WARM("verify", "-q", cwd=path)
    assert len(seen) > STEPS // 3
    assert broken < len(seen) // 3
