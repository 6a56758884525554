"""What is in bundles, when new ones are made, and what becomes of the old ones."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.compat.warm import WARM
from tests.unit.bundles.making import Made, copy_of
from tests.unit.http.conftest import commit, run

from trunkline.bundles.keeper import Keeper
from trunkline.bundles.policy import is_due, is_large_enough, wanted_kinds
from trunkline.bundles.refresh import NotMade, Refresh, Subject, alone
from trunkline.config.bundles import Bundles
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.stock.configuration import close_readers
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.shelf import Edition
from trunkline.spool.place import open_place

SECONDS = 30.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    made = Made(tmp_path_factory.mktemp("bundles"))
    made.make()
    yield made
    close_readers()


@pytest.fixture
def own(made: Made, tmp_path: Path) -> Made:
    return copy_of(made, tmp_path)


def files(made: Made) -> set[str]:
    return {path.stem for path in Path(made.shelf.folder).glob("*.whole")}


def names(edition: Edition) -> set[str]:
    return {bundle.name for bundle in edition.bundles}


def is_due_now(made: Made, settings: Bundles | None = None) -> bool:
    settings = settings or made.bundles
    subject = made.subject
    snapshot = subject.take_snapshot()
    kinds = wanted_kinds(settings, snapshot, subject.config)
    edition = made.shelf.listing(subject.root).newest
    return is_due(settings, made.shelf, edition, snapshot, kinds)


def test_bundle_holds_what_is_public_and_nothing_else(own: Made, tmp_path: Path) -> None:
    commit(own.repository, "a", b"draft\n", "draft")
    commit(own.repository, "a", b"secret\n", "secret")
    run(own.repository, "phase", "-q", "--force", "--secret", "tip")
    edition = own.make()
    # A stream would hold all of it.
    assert [bundle.kind for bundle in edition.bundles] == ["zstd", "gzip"]
    assert edition.changesets == 2
    for bundle in edition.bundles:
        clone = tmp_path / bundle.kind
        WARM("init", clone)
        WARM("unbundle", "-q", own.shelf.path(bundle), cwd=clone)
        assert WARM("log", "-T", "{desc} ", cwd=clone) == b"two one "
        said = WARM("debugbundle", "--spec", own.shelf.path(bundle), cwd=clone)
        assert said.decode().strip() == bundle.spec


def test_stream_ordered_before_a_secret_commit_is_not_made(own: Made) -> None:
    old = own.subject.take_snapshot()
    snapshots = [old]
    commit(own.repository, "a", b"secret\n", "secret")
    run(own.repository, "phase", "-q", "--force", "--secret", "tip")
    root, config, take = own.subject.root, own.subject.config, own.subject.take_snapshot
    refresh = Refresh(own.bundles, own.shelf)
    refresh.clear(root)
    edition = refresh.run(Subject(root, config, lambda: snapshots.pop() if snapshots else take()))
    refresh.close()
    assert edition is not None
    assert [bundle.kind for bundle in edition.bundles] == ["zstd", "gzip"]


def test_stream_bundle_says_what_its_reader_must_know(made: Made) -> None:
    (stream,) = (bundle for bundle in made.edition.bundles if bundle.kind == "stream")
    said = WARM("debugbundle", "--spec", made.shelf.path(stream), cwd=made.repository)
    assert said.decode().strip() == stream.spec


def test_new_ones_are_due_when_the_repository_has_grown(own: Made) -> None:
    assert not is_due_now(own)
    commit(own.repository, "b", b"\n", "draft")
    assert not is_due_now(own)
    run(own.repository, "phase", "-q", "--public", "tip")
    assert is_due_now(own)
    assert not is_due_now(own, replace(own.bundles, growth_percent=51))
    before = own.edition
    after = own.make()
    assert names(after).isdisjoint(names(before))
    assert files(own) == names(after) | names(before)  # clients may just have read the old list
    commit(own.repository, "c", b"\n", "more")
    run(own.repository, "phase", "-q", "--public", "tip")
    last = own.make()
    assert files(own) == names(last) | names(after)


def test_new_ones_are_due_when_one_is_missing(own: Made) -> None:
    Path(own.shelf.path(own.edition.bundles[0])).unlink()
    assert is_due_now(own)
    own.make()
    assert not is_due_now(own)


def test_new_ones_are_due_when_the_old_ones_may_not_be_given_out(own: Made) -> None:
    before = own.edition
    run(own.repository, "phase", "-q", "--force", "--draft", "tip")
    assert is_due_now(own)
    after = own.make()
    assert after.changesets == 1
    assert files(own) == names(after)
    assert own.shelf.listing(str(own.repository)).editions == [after]
    assert names(before).isdisjoint(names(after))


def test_small_repositories_have_none_of_their_own_accord(made: Made) -> None:
    snapshot = made.subject.take_snapshot()
    assert is_large_enough(Bundles(make="always"), snapshot)
    assert not is_large_enough(Bundles(), snapshot)
    assert is_large_enough(Bundles(smallest_bytes=100), snapshot)
    assert not is_large_enough(Bundles(make="off", smallest_bytes=100), snapshot)


def test_one_process_at_a_time_makes_them(own: Made) -> None:
    refresh = Refresh(own.bundles, own.shelf)
    with alone(open_place(own.shelf.folder), own.subject.root) as is_alone:
        assert is_alone
        assert refresh.run(own.subject) is None
    assert refresh.run(own.subject) is not None
    refresh.close()


def test_no_room_is_told_in_words_and_changes_nothing(own: Made) -> None:
    before = own.edition
    commit(own.repository, "b", b"\n", "more")
    run(own.repository, "phase", "-q", "--public", "tip")
    refresh = Refresh(replace(own.bundles, bytes=1), own.shelf)
    with pytest.raises(NotMade, match=r"no room within the limits of \[bundles\]"):
        refresh.run(own.subject)
    refresh.close()
    assert own.edition == before


def test_they_can_be_taken_away(own: Made) -> None:
    refresh = Refresh(own.bundles, own.shelf)
    listing = refresh.clear(own.subject.root)
    refresh.close()
    assert [len(edition.bundles) for edition in listing.editions] == [3]
    assert files(own) == set()
    assert not own.shelf.has_list(own.subject.root)


def served(made: Made) -> Served:
    subject = made.subject
    return Served.open(subject.root, subject.config, Bridge(subject.root), made.shelf)


def await_true(wanted: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not wanted():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_keeper_makes_them_of_what_is_asked_for(own: Made) -> None:
    settings = replace(own.bundles, check_seconds=1)
    keeper, before, source = Keeper(settings, own.shelf), own.edition, served(own)
    try:
        commit(own.repository, "b", b"\n", "more")
        run(own.repository, "phase", "-q", "--public", "tip")
        keeper.notice(source, source.snapshot())
        await_true(lambda: own.edition != before)
    finally:
        keeper.close()


def test_keeper_leaves_an_operators_repository_alone(own: Made) -> None:
    (own.repository / ".hg/clonebundles.manifest").write_text("")
    Path(own.shelf.path(own.edition.bundles[0])).unlink()
    keeper, source = Keeper(own.bundles, own.shelf), served(own)
    keeper._make(source)
    keeper.close()
    assert len(files(own)) == 2


def test_keeper_tells_what_goes_wrong_and_goes_on(
    own: Made, caplog: pytest.LogCaptureFixture
) -> None:
    settings = replace(own.bundles, bytes=1)
    Path(own.shelf.path(own.edition.bundles[0])).unlink()
    keeper, source = Keeper(settings, own.shelf), served(own)
    with caplog.at_level(logging.WARNING):
        assert not keeper._look(source)
    keeper.close()
    assert "no new clone bundles: no room" in caplog.text


def test_what_a_killed_builder_has_left_is_made_anew(own: Made) -> None:
    bundle = own.make().bundles[0]
    whole = Path(own.shelf.path(bundle))
    data = whole.read_bytes()
    whole.unlink()
    left = whole.with_suffix(".part")
    left.write_bytes(data[:100])
    left.chmod(0o600)
    assert own.make().bundles[0] == bundle
    assert whole.read_bytes() == data
    assert not left.exists()
