from __future__ import annotations

from binascii import hexlify, unhexlify
from pathlib import Path

import pytest
from mercurial import changelog as oracle
from tests.unit.hg.store import repositories

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE
from trunkline.hg.store.changelog import (
    Changelog,
    cut_changelog,
    parse_branch_and_closed,
    parse_changelog,
    parse_changeset,
    parse_extra,
    parse_manifest_and_files,
)
from trunkline.hg.store.repository import Repository

MANIFEST = bytes(range(20))


def text(date: bytes = b"0 0", files: bytes = b"a\nb\n", description: bytes = b"words") -> bytes:
    return b"%b\nuser <u@x>\n%b\n%b\n%b" % (hexlify(MANIFEST), date, files, description)


def test_parse_takes_a_changeset_apart() -> None:
    extra = oracle.encodeextra({b"branch": b"st\nable", b"close": b"1", b"k": b"\\0:\0\r"})
    found = parse_changeset(text(b"12 -3600 " + extra, description=b"a\n\nb"))
    assert (found.manifest, found.user, found.date) == (MANIFEST, b"user <u@x>", b"12 -3600")
    assert (found.branch, found.closed, found.files) == (b"st\nable", True, [b"a", b"b"])
    assert found.extra == {b"branch": b"st\nable", b"close": b"1", b"k": b"\\0:\0\r"}
    assert found.description == b"a\n\nb"


def test_parse_without_extra_is_on_the_default_branch() -> None:
    found = parse_changeset(text(files=b""))
    assert (found.branch, found.closed, found.extra, found.files) == (b"default", False, {}, [])
    assert parse_branch_and_closed(text()) == (b"default", False)


def test_the_quick_readers_say_what_the_whole_one_does() -> None:
    for sample in (text(), text(files=b""), text(b"0 0 branch:x\0close:1"), text(b"0 0 a:b")):
        whole = parse_changeset(sample)
        assert parse_manifest_and_files(sample) == (whole.manifest, whole.files)
        assert parse_branch_and_closed(sample) == (whole.branch, whole.closed)


def test_an_empty_text_is_no_changes() -> None:
    assert parse_changeset(b"").manifest == NULL_NODE
    assert parse_manifest_and_files(b"") == (NULL_NODE, [])
    assert parse_branch_and_closed(b"") == (b"default", False)


@pytest.mark.parametrize("bad", [b"x", b"\n\n", b"zz\nu\n0 0\n\n", text()[:50], b"\n" * 9])
def test_parse_refuses_what_is_no_changeset(bad: bytes) -> None:
    with pytest.raises(StoreError):
        parse_changeset(bad)


@pytest.mark.parametrize("bad", [b"nocolon", b"a:b\0nocolon", b"a:\\x"])
def test_parse_extra_refuses_what_is_none(bad: bytes) -> None:
    with pytest.raises(StoreError):
        parse_extra(bad)


@pytest.fixture(scope="module", params=["default", "no-generaldelta"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("changelog") / "repo"
    return repositories.sample(path, *repositories.FORMATS[request.param])


def changelog_of(path: Path) -> Changelog:
    return Repository(str(path)).snapshot().changelog


def test_entries_are_mercurials(sample: Path) -> None:
    theirs = repositories.oracle(sample).changelog
    ours = changelog_of(sample)
    assert ours.count == len(theirs)
    assert list(ours.texts(reversed(range(ours.count)))) == [
        theirs.revision(rev) for rev in reversed(range(ours.count))
    ]
    for rev in range(ours.count):
        entry, read = ours.entry(rev), theirs.changelogrevision(rev)
        assert (entry.manifest, entry.user, entry.files) == (read.manifest, read.user, read.files)
        assert (entry.branch, entry.closed) == read.branchinfo
        assert {b"branch": b"default", **entry.extra} == read.extra
        assert entry.description == read.description
        assert ours.manifest_and_files(rev) == (read.manifest, read.files)


def test_cut_knows_only_the_first_changesets(sample: Path) -> None:
    whole = changelog_of(sample)
    cut = cut_changelog(whole, 3)
    assert cut.count == 3
    assert cut.text(2) == whole.text(2)
    assert cut.rev(whole.node(2)) == 2
    assert cut.rev(whole.node(3)) is None
    assert cut_changelog(whole, 0).rev(whole.node(0)) is None


def test_a_missing_changelog_is_empty(tmp_path: Path) -> None:
    empty = changelog_of(repositories.make(tmp_path / "r"))
    assert not Path(empty.path).exists()
    assert empty.count == 0
    assert empty.rev(NULL_NODE) == -1
    assert empty.rev(b"\1" * 20) is None
    assert empty.revs([b"\1" * 20, NULL_NODE]).tolist() == [-2, -1]
    assert list(empty.texts([])) == []


def test_a_longer_changelog_learns_from_the_shorter(sample: Path) -> None:
    whole = changelog_of(sample)
    path = whole.path
    nodes = [whole.node(rev) for rev in range(whole.count)]
    for count in range(whole.count + 1):
        short = cut_changelog(whole, count)
        assert short.revs(nodes).tolist() == [*range(count)] + [-2] * (whole.count - count)
        grown = parse_changelog(whole.index.raw, path, short)
        assert grown.revs(nodes).tolist() == [*range(whole.count)]
    assert parse_changelog(whole.index.raw, path, whole) is whole
    other = parse_changelog(whole.index.raw[:-64] + bytes(64), path, whole)
    assert other.rev(nodes[-1]) is None


def test_prefix_finds_all_that_start_so(sample: Path) -> None:
    index = changelog_of(sample).index
    nodes = [index.node(rev).hex().encode() for rev in range(index.count)]
    for length in (1, 2, 15, 16, 17, 39, 40):
        for node in nodes:
            prefix = node[:length]
            expected = [rev for rev, each in enumerate(nodes) if each.startswith(prefix)]
            assert sorted(index.revs_with_prefix(prefix, 99)) == expected
    assert index.revs_with_prefix(b"f" * 40) == []
    assert unhexlify(nodes[0])[:20] == index.node(0)


def test_texts_of_several_batches_are_all_there(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trunkline.hg.store.changelog.BATCH", 3)
    log = changelog_of(sample)
    assert list(log.texts(range(log.count))) == [log.text(rev) for rev in range(log.count)]
