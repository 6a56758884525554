"""Stream clones that real clients apply, also while a real `hg` writes to the repository."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.compat.hg import Hg, HgFailed, Session
from tests.compat.warm import WARM
from tests.unit.hg.bundle.streams import bundle_of, bundle_of_v1, configured
from tests.unit.hg.bundle.writing import add, open_writer

from trunkline.errors import StoreError
from trunkline.hg.bundle.stream_v2 import stream2_part
from trunkline.hg.bundle.stream_v3 import stream3_part
from trunkline.hg.store.repository import Repository
from trunkline.hg.store.snapshot import Snapshot

# The writer hides changesets; a stream with them goes out only where the operator says so.
PRIVATE = configured(phases_publish="no", server_uncompressedallowsecret="yes")
CLIENT = ("phases.publish=no", "experimental.evolution=all", "experimental.stream-v3=yes")
SLOW_NODEMAP = "storage.revlog.persistent-nodemap.slow-path=allow"
LARGE = b"".join(b"%064d\n" % number for number in range(2500))
IDS = "{rev} {node}\n"
SEEN = "{rev} {node} {p1node} {p2node} {branch} {phase} {files} {desc}\n"

RUNS = 3  # clones while somebody writes, one of each form


def bundle_v1(snapshot: Snapshot) -> Iterator[bytes]:
    return bundle_of_v1(snapshot, PRIVATE)


def bundle_v2(snapshot: Snapshot) -> Iterator[bytes]:
    return bundle_of(stream2_part(snapshot.view("served"), PRIVATE, True))


def bundle_v3(snapshot: Snapshot) -> Iterator[bytes]:
    return bundle_of(stream3_part(snapshot.view("served"), PRIVATE, True))


Bundler = Callable[[Snapshot], Iterator[bytes]]
BUNDLERS: list[Bundler] = [bundle_v1, bundle_v2, bundle_v3]


def apply(hg: Hg | Session, bundle: Path, clone: Path) -> None:
    """Make a repository of a bundle file, and look whether it is whole."""
    command = "unbundle"
    if bundle.read_bytes()[:4] == b"HGS1":
        command = "debugapplystreamclonebundle"
    hg("init", clone)
    hg("-R", clone, command, bundle)
    hg("-R", clone, "verify")


def log(hg: Hg, repository: Path, template: str = SEEN) -> bytes:
    return hg("-R", repository, "log", "--hidden", "-T", template)


@pytest.fixture(scope="module", params=[{}, {"format_use__persistent__nodemap": "yes"}])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A split revlog, odd names, draft and hidden changesets and their markers; the second one
    with nodemaps, which the clients here can't read and must drop.
    """
    path = tmp_path_factory.mktemp("stream") / "r"
    repo = open_writer(path, experimental_evolution="all", **request.param)
    add(repo, {b"a": b"1\n", b"Dir.i/\xc3\xa9": b"e\n", b"n" * 200: b"long\n", b"large": LARGE})
    old = add(repo, {b"a": b"2\n"})
    new = add(repo, {b"a": b"3\n", b"large": LARGE[100:], b"empty": b""})
    with repo.wlock(), repo.lock(), repo.transaction(b"tests") as transaction:
        repo.obsstore.create(transaction, old, (new,), date=(0, 0), ui=repo.ui)
    return path


@pytest.mark.parametrize("bundle", [bundle_v1, bundle_v2])
def test_a_client_applies_a_stream(hg: Hg, bundle: Bundler, source: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle").write_bytes(b"".join(bundle(Repository(str(source)).snapshot())))
    client = hg.with_config(*CLIENT)

    apply(client, tmp_path / "bundle", tmp_path / "clone")

    template = IDS if bundle is bundle_v1 else SEEN  # the oldest form has no phases
    trusted = WARM.with_config(*CLIENT, SLOW_NODEMAP)
    assert log(client, tmp_path / "clone", template) == log(trusted, source, template)
    if bundle is not bundle_v1:
        assert client("-R", tmp_path / "clone", "debugobsolete") != b""


def test_the_installed_client_applies_a_stream_of_version_3(source: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle").write_bytes(b"".join(bundle_v3(Repository(str(source)).snapshot())))
    client = WARM.with_config(*CLIENT, SLOW_NODEMAP)

    apply(client, tmp_path / "bundle", tmp_path / "clone")

    assert log(client, tmp_path / "clone") == log(client, source)


class Writer:
    """A real `hg` that works on a repository in another thread: commits of many files, revlogs
    that outgrow their inline form, amended and stripped changesets, transactions that fail.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._path = path
        self._random = random.Random(seed)
        self._stop = Event()
        self._failure: Exception | None = None
        self._thread = Thread(target=self._run)
        self.steps = 0

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_reason: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            config = ("extensions.strip=", "experimental.evolution=all", "phases.publish=no")
            with WARM.with_config(*config).session(self._path) as hg:
                while not self._stop.is_set():
                    self._step(hg)
                    self.steps += 1
        except Exception as failure:
            self._failure = failure

    def _step(self, hg: Session) -> None:
        kind = self._random.choice(["commit"] * 5 + ["amend", "strip", "fail", "update"])
        if kind == "update" or self.steps < 3:
            hg("update", "-q", "-C", "-r", "first(head())")
        if kind == "strip" and self.steps > 8:
            hg("update", "-q", "-C", "-r", "tip")
            hg("strip", "-q", "--no-backup", "-r", "tip")
            return
        self._change()
        if kind == "fail":
            with pytest.raises(HgFailed):
                hg("commit", "-qA", "-m", "fails", "--config", "hooks.pretxncommit=false")
            hg("update", "-q", "-C", "-r", ".")
        elif kind == "amend":
            hg("commit", "-qA", "-m", f"step {self.steps}")
            self._change()
            hg("commit", "-qA", "--amend", "-m", f"amended {self.steps}")
        else:
            hg("commit", "-qA", "-m", f"step {self.steps}")

    def _change(self) -> None:
        for _ in range(self._random.choice([1, 3, 20, 60])):
            number = self._random.randrange(100)
            file = self._path / f"d{number % 6}" / f"F{number}.txt"
            file.parent.mkdir(exist_ok=True)
            noise = self._random.randbytes(self._random.choice([20, 300, 20_000])).hex()
            with file.open("ab") as end:
                end.write(noise.encode() + b"\n")


def test_streams_are_whole_while_somebody_writes(tmp_path: Path) -> None:
    """Or they break visibly. Blocks are taken slowly, so that much happens while one runs."""
    path = tmp_path / "r"
    repo = open_writer(path)
    add(repo, {b"a": b"1\n"})
    add(repo, {b"a": b"2\n"})
    WARM("-R", path, "update", "-q")
    repository = Repository(str(path))
    broken = 0
    with (
        Writer(path, seed=1) as writer,
        WARM.with_config(*CLIENT).session(tmp_path) as client,
    ):
        for run in range(RUNS):
            while writer.steps < 4 * (run + 2) and writer._thread.is_alive():
                writer._stop.wait(0.01)
            snapshot = repository.snapshot()
            bundle = tmp_path / f"bundle{run}"
            try:
                with bundle.open("wb") as file:
                    for block in BUNDLERS[run](snapshot):
                        file.write(block)
                        writer._stop.wait(0.02)
            except StoreError:
                broken += 1
                continue
            apply(client, bundle, tmp_path / f"clone{run}")
            count = client("-R", tmp_path / f"clone{run}", "log", "--hidden", "-T", "x")
            assert len(count) == snapshot.changelog.count
    assert broken < RUNS
