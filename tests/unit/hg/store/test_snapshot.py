"""Snapshots of a store that nobody writes to, or that a transaction has been stopped in."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from tests.compat.hg import INSTALLED
from tests.compat.warm import WARM
from tests.unit.hg.store import repositories

from trunkline.errors import NotNative, StoreError
from trunkline.hg.store.snapshot import Snapshot


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = repositories.make(tmp_path_factory.mktemp("snapshot") / "repo")
    with repositories.writing(path) as hg:
        for number in range(4):
            repositories.commit(hg, path, {"a": b"%d\n" % number}, f"number {number}")
        hg("phase", "-p", "-r", "1")
        hg("bookmark", "mark", "-r", "2")
    return path


@pytest.fixture
def path(source: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(source, tmp_path / "repo"))


def hg(path: Path, *words: str, config: tuple[str, ...] = (), expect: int = 0) -> bytes:
    """One that is going to be killed is nobody else's."""
    program = INSTALLED if expect < 0 else WARM
    return program.with_config(*config).run(*words, cwd=path, expect=expect).out


def evolve(path: Path, *words: str) -> bytes:
    return hg(path, *words, config=("experimental.evolution=all",))


def state(snapshot: Snapshot) -> tuple[object, ...]:
    """What a snapshot says, as plain values."""
    changelog = snapshot.changelog
    return (
        [changelog.node(rev) for rev in range(changelog.count)],
        [snapshot.phases.phase(rev) for rev in range(changelog.count)],
        dict(snapshot.bookmarks),
        len(snapshot.obsmarkers.all),
    )


def test_the_same_snapshot_is_kept_while_nothing_moves(path: Path) -> None:
    repository = repositories.opened(path)
    first = repository.snapshot()
    assert first.changelog.count == 4
    assert repository.snapshot() is first
    hg(path, "commit", "-m", "nothing", expect=1)  # writes the dirstate
    hg(path, "phase", "--draft", "-r", "3")
    assert repository.snapshot() is first
    assert first.is_current()


@pytest.mark.parametrize(
    "words",
    [
        ("phase", "-p", "-r", "2"),
        ("phase", "--secret", "--force", "-r", "3"),
        ("bookmark", "mark", "-f", "-r", "3"),
        ("bookmark", "-d", "mark"),
        ("update", "-q", "0"),
        ("tag", "--local", "t"),
        ("commit", "--amend", "-q", "-m", "amended"),
        ("rollback", "-q"),
    ],
)
def test_a_new_snapshot_is_taken_when_something_moved(path: Path, words: tuple[str, ...]) -> None:
    repository = repositories.opened(path)
    first = repository.snapshot()
    key = first.key
    evolve(path, *words)
    second = repository.snapshot()
    assert second is not first
    assert second.key != key
    assert second.key == repositories.opened(path).snapshot().key
    assert state(second) == state(repositories.opened(path).snapshot())


def test_kept_snapshot_is_the_one_of_now_or_none(path: Path) -> None:
    repository = repositories.opened(path)
    assert repository.kept_snapshot() is None
    snapshot = repository.snapshot()
    assert repository.kept_snapshot() is snapshot
    hg(path, "bookmark", "other")
    assert repository.kept_snapshot() is None
    assert repository.snapshot() is repository.kept_snapshot()


def test_equal_repositories_have_equal_keys(path: Path, source: Path) -> None:
    assert repositories.opened(path).snapshot().key == repositories.opened(source).snapshot().key


def test_check_passes_after_additions_and_fails_after_a_strip(path: Path) -> None:
    snapshot = repositories.opened(path).snapshot()
    snapshot.check()
    (path / "a").write_bytes(b"more\n")
    hg(path, "commit", "-m", "more", "-u", "x")
    snapshot.check()
    longer = repositories.opened(path).snapshot()
    hg(path, "strip", "-q", "-r", "4", config=("extensions.strip=",))
    snapshot.check()
    with pytest.raises(StoreError, match="stripped"):
        longer.check()
    hg(path, "update", "-q", "1")
    (path / "a").write_bytes(b"other\n")
    hg(path, "commit", "-q", "-m", "other", "-u", "x")
    hg(path, "strip", "-q", "-r", "2", config=("extensions.strip=",))
    with pytest.raises(StoreError, match="stripped"):
        snapshot.check()


def test_changesets_are_gone_from_the_next_snapshot_after_a_strip(path: Path) -> None:
    repository = repositories.opened(path)
    before = repository.snapshot()
    hg(path, "strip", "-q", "-r", "2", config=("extensions.strip=",))
    after = repository.snapshot()
    assert after.changelog.count == 2
    assert after.changelog.rev(before.changelog.node(3)) is None
    filelog, manifest = after.filelog(b"a"), after.manifest()
    assert filelog is not None
    assert (filelog.count, manifest.count) == (2, 2)


@pytest.mark.parametrize("words", [("commit", "-m", "five"), ("commit", "--amend", "-m", "x")])
@pytest.mark.parametrize("hook", ["pretxncommit", "pretxnclose"])
def test_nothing_of_a_transaction_in_progress_is_seen(
    path: Path, hook: str, words: tuple[str, ...]
) -> None:
    """The hook copies the repository, as a reader would meet it; the last one is the result."""
    repository = repositories.opened(path)
    before = state(repository.snapshot())
    (path / "a").write_bytes(b"five\n")
    copy = path.parent / "copy"
    config = (f"hooks.{hook}=cp -a {path} {copy}", "experimental.evolution=all")
    hg(path, *words, "-u", "x", config=config)
    assert (copy / ".hg/store/journal").exists()
    stopped = repositories.opened(copy).snapshot()
    assert state(stopped) == before
    filelog = stopped.filelog(b"a")
    assert filelog is not None
    assert (filelog.count, stopped.manifest().count) == (4, 4)
    assert state(repository.snapshot()) != before


def test_nothing_of_an_interrupted_transaction_is_seen(path: Path) -> None:
    """hg is killed when all is written and only the journal still there: `recover` undoes it."""
    before = state(repositories.opened(path).snapshot())
    (path / "a").write_bytes(b"five\n")
    config = ("devel.debug.abort-transaction=kill-9-post-finalize", "experimental.evolution=all")
    hg(path, "commit", "--amend", "-m", "five", "-u", "x", config=config, expect=-9)
    assert (path / ".hg/store/journal").exists()
    repository = repositories.opened(path)
    assert state(repository.snapshot()) == before
    hg(path, "recover", "--no-verify")
    assert not (path / ".hg/store/journal").exists()
    assert state(repository.snapshot()) == before


def test_first_push_into_an_empty_repository_is_seen_whole_or_not_at_all(
    path: Path, tmp_path: Path
) -> None:
    empty = repositories.make(tmp_path / "empty")
    config = ("devel.debug.abort-transaction=kill-9-post-finalize",)
    hg(empty, "pull", "-q", str(path), config=config, expect=-9)
    assert (empty / ".hg/store/00changelog.i").stat().st_size == 4 * 64
    repository = repositories.opened(empty)
    assert state(repository.snapshot()) == ([], [], {}, 0)
    assert repository.snapshot().manifest().count == 0
    hg(empty, "recover", "--no-verify")
    hg(empty, "pull", "-q", str(path))
    assert repository.snapshot().changelog.count == 4


def test_an_empty_repository_has_an_empty_snapshot(tmp_path: Path) -> None:
    snapshot = repositories.opened(repositories.make(tmp_path / "empty")).snapshot()
    assert state(snapshot) == ([], [], {}, 0)
    assert snapshot.manifest().count == 0
    assert snapshot.filelog(b"a") is None
    snapshot.check()


@pytest.mark.parametrize("options", [(), ("-B",)])
def test_a_share_is_read_from_its_source(path: Path, options: tuple[str, ...]) -> None:
    share = path.parent / "share"
    hg(path, "share", "-q", *options, ".", str(share), config=("extensions.share=",))
    repository = repositories.opened(share)
    first = repository.snapshot()
    own = {} if not options else {b"mark": first.changelog.node(2)}
    assert (first.changelog.count, dict(first.bookmarks)) == (4, own)
    (path / "a").write_bytes(b"more\n")
    hg(path, "commit", "-m", "more", "-u", "x")
    hg(path, "bookmark", "second", "-r", "4")
    second = repository.snapshot()
    assert second.changelog.count == 5
    filelog = second.filelog(b"a")
    assert filelog is not None
    assert filelog.text(4) == b"more\n"
    assert (b"second" in second.bookmarks) == bool(options)


def test_phases_that_a_rollback_is_putting_back_are_waited_for(path: Path) -> None:
    """`hg rollback` removes phaseroots before it writes it: nothing secret may be seen then."""
    hg(path, "phase", "--secret", "--force", "-r", "2")
    hg(path, "phase", "--public", "-r", "1")
    store = path / ".hg/store"
    roots = (store / "phaseroots").read_bytes()
    assert roots.startswith(b"2 ")
    (store / "undo.backup.phaseroots.bck").write_bytes(roots)
    for data in (None, b"", roots[:20]):
        (store / "phaseroots").unlink()
        if data is not None:
            (store / "phaseroots").write_bytes(data)
        (store / "lock").symlink_to("host:1")
        timer = threading.Timer(0.05, put_back, (store, roots))
        timer.start()
        snapshot = repositories.opened(path).snapshot()
        timer.join()
        assert snapshot.phases.secret == {2, 3}


def put_back(store: Path, roots: bytes) -> None:
    (store / "phaseroots").write_bytes(roots)
    (store / "lock").unlink()


def test_requirements_that_change_are_noticed(path: Path) -> None:
    repository = repositories.opened(path)
    repository.snapshot()
    with (path / ".hg/store/requires").open("a") as file:
        file.write("of-the-future\n")
    with pytest.raises(NotNative, match="of-the-future"):
        repository.snapshot()


def test_an_upgrade_of_the_format_is_noticed(path: Path) -> None:
    repository = repositories.opened(path)
    before = state(repository.snapshot())
    config = ("format.revlog-compression=zlib", "format.dotencode=no")
    hg(path, "debugupgraderepo", "--run", "--no-backup", "--quiet", config=config)
    after = repository.snapshot()
    assert state(after) == before
    assert "dotencode" not in repository.requirements
    filelog = after.filelog(b"a")
    assert filelog is not None
    assert filelog.text(3) == b"3\n"


def test_a_damaged_store_is_an_error(path: Path) -> None:
    repository = repositories.opened(path)
    (path / ".hg/store/00changelog.i").write_bytes(b"\0\0\0\x09" + bytes(60))
    with pytest.raises(StoreError, match=r"00changelog\.i at byte 0"):
        repository.snapshot()


def test_a_filelog_that_is_cut_is_an_error_unless_it_is_being_written(path: Path) -> None:
    snapshot = repositories.opened(path).snapshot()
    store = path / ".hg/store"
    filelog = store / "data/a.i"
    whole = filelog.read_bytes()
    log = snapshot.filelog(b"a")
    assert log is not None
    last = log.entry_at(3)
    for length in (3, 50, 64, len(whole) - 1):
        filelog.write_bytes(whole[:length])
        end = {3: 0, 50: 0, 64: 0}.get(length, last)
        with pytest.raises(
            StoreError, match=rf"ends within an entry \[.*/data/a\.i at byte {end}\]"
        ):
            snapshot.filelog(b"a")
    (store / "journal").write_bytes(b"data/a.i\0%d\n" % len(whole))
    found = snapshot.filelog(b"a")
    assert found is not None
    assert found.count == 3


def test_a_filelog_that_is_being_put_back_is_waited_for(path: Path) -> None:
    """What a transaction that is given up does to a file that has outgrown its inline form."""
    snapshot = repositories.opened(path).snapshot()
    store = path / ".hg/store"
    (store / "journal").write_bytes(b"data/a.i\x001\n")
    (store / "journal.backupfiles").write_bytes(b"2\n\0data/a.i\0data/b.bck\0000\n")
    for data in (None, b"", (store / "data/a.i").read_bytes()[:100]):
        whole = (store / "data/a.i").read_bytes()
        (store / "data/a.i").unlink()
        if data is not None:
            (store / "data/a.i").write_bytes(data)
        timer = threading.Timer(0.05, (store / "data/a.i").write_bytes, (whole,))
        timer.start()
        found = snapshot.filelog(b"a")
        timer.join()
        assert found is not None
        assert found.count == 4


def test_an_empty_filelog_has_no_revisions(path: Path) -> None:
    """A strip leaves it so."""
    hg(path, "strip", "-q", "-r", "0", config=("extensions.strip=",))
    snapshot = repositories.opened(path).snapshot()
    filelog = snapshot.filelog(b"a")
    assert filelog is None or filelog.count == 0
    assert snapshot.manifest().count == 0


def test_a_missing_manifest_is_an_error(path: Path) -> None:
    snapshot = repositories.opened(path).snapshot()
    (path / ".hg/store/00manifest.i").unlink()
    with pytest.raises(StoreError, match="manifest of changeset 0"):
        snapshot.manifest()


def test_a_view_is_made_once(path: Path) -> None:
    snapshot = repositories.opened(path).snapshot()
    assert snapshot.view("served") is snapshot.view("served")
    assert snapshot.view("served") is not snapshot.view("visible")


def test_threads_share_one_repository(path: Path) -> None:
    repository = repositories.opened(path)
    expected = state(repository.snapshot())
    wrong: list[object] = []

    def work() -> None:
        for _ in range(50):
            snapshot = repository.snapshot()
            filelog = snapshot.filelog(b"a")
            if state(snapshot) != expected or filelog is None or filelog.text(3) != b"3\n":
                wrong.append(state(snapshot))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    hg(path, "debugupdatecaches")
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("length", [3, 40, 100, 255])
def test_a_changelog_that_is_cut_in_mid_entry_is_an_error(path: Path, length: int) -> None:
    """Not a repository of fewer changesets: nobody is at work who could explain it."""
    repository = repositories.opened(path)
    index = path / ".hg/store/00changelog.i"
    whole = index.read_bytes()
    for asked in (repository, repositories.opened(path)):
        index.write_bytes(whole)
        if asked is repository:
            asked.snapshot()
        index.write_bytes(whole[:length])
        where = rf"ends within an entry \[.*/00changelog\.i at byte {length // 64 * 64}\]"
        with pytest.raises(StoreError, match=where):
            asked.snapshot()


def test_bytes_after_the_last_changeset_are_an_error_unless_somebody_writes(path: Path) -> None:
    repository = repositories.opened(path)
    before = state(repository.snapshot())
    store = path / ".hg/store"
    whole = (store / "00changelog.i").read_bytes()
    (store / "00changelog.i").write_bytes(whole + bytes(30))
    with pytest.raises(StoreError, match=r"00changelog\.i at byte 256"):
        repository.snapshot()
    (store / "lock").symlink_to("host:1")
    assert state(repository.snapshot()) == before
    (store / "lock").unlink()
    (store / "journal").write_bytes(b"00changelog.i\0%d\n" % len(whole))
    assert state(repository.snapshot()) == before
