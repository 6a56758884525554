from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.config.hgconfig import HgConfig
from trunkline.config.settings import Index
from trunkline.http.catalogue import Catalogue, Entry, Listing
from trunkline.http.roots import mount_paths

HGRC = {
    "hidden": {("web", "hidden"): "yes"},
    "denied": {("web", "deny_read"): "*"},
    "named": {("web", "name"): "A name", ("web", "description"): "words"},
    "broken": {("web", "hidden"): "perhaps"},
}


class Configs:
    """Reads what this test wrote; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, path: str) -> HgConfig:
        self.asked.append(Path(path).name)
        return HgConfig({}, HGRC.get(Path(path).name, {}))


def repository(path: Path, hgrc: str = "") -> None:
    (path / ".hg").mkdir(parents=True)
    if hgrc:
        (path / ".hg" / "hgrc").write_text(hgrc)


def listing(root: Path, configs: Configs | None = None, **limits: int) -> Listing:
    roots = mount_paths([str(root)])
    return Catalogue(roots, Index(**limits), configs or Configs()).listing()


def paths(found: Listing) -> list[str]:
    return [entry.path for entry in found.entries]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("b", "a", "group/c", "group/c/nested", "x/y/z"):
        repository(root / name)
    (root / "plain" / "empty").mkdir(parents=True)
    (root / "file").touch()
    return root


def test_lists_nested_ones_sorted(root: Path) -> None:
    found = listing(root)
    assert paths(found) == ["a", "b", "group/c", "group/c/nested", "x/y/z"]
    assert not found.is_cut
    assert paths(found.below("group")) == ["group/c", "group/c/nested"]
    assert paths(found.below("grou")) == []


def test_leaves_out_hidden_ones_and_is_cut_to_what_somebody_may_read(root: Path) -> None:
    for name in ("hidden", "denied", "broken"):
        repository(root / name, "[web]\nhidden = or so\n")
    repository(root / "named", "[web]\nname = A name\n")
    whole = listing(root)
    assert paths(whole) == ["a", "b", "denied", "group/c", "group/c/nested", "named", "x/y/z"]

    def may_read(entry: Entry) -> bool:
        assert entry.config is not None
        return not entry.config.list("web", "deny_read", untrusted=True)

    found = whole.shown_to(may_read)
    assert paths(found) == ["a", "b", "group/c", "group/c/nested", "named", "x/y/z"]
    entry = found.entries[4]
    assert (entry.name, entry.description) == ("A name", "words")


def test_asks_mercurial_once_for_all_that_say_nothing(root: Path) -> None:
    repository(root / "quiet", "[ui]\nverbose = no\n")
    configs = Configs()
    found = listing(root, configs)
    assert len(found.entries) == 6
    assert len(configs.asked) == 1


def test_follows_symlinks_inside_and_none_outside_or_in_a_circle(
    root: Path, tmp_path: Path
) -> None:
    repository(tmp_path / "outside" / "o")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "group" / "circle").symlink_to("..")
    (root / "dangling").symlink_to("nowhere")
    repository(tmp_path / "root-2" / "r")
    (root / "beside").symlink_to(tmp_path / "root-2")
    assert paths(listing(root)) == ["a", "b", "group/c", "group/c/nested", "x/y/z"]


@pytest.mark.parametrize("link", ["0", "zz", "x/0"])
@pytest.mark.parametrize("target", ["a", "group", "group/c/nested"])
def test_symlink_hides_nothing_that_it_leads_to(root: Path, link: str, target: str) -> None:
    (root / link).symlink_to(root / target)
    assert paths(listing(root)) == ["a", "b", "group/c", "group/c/nested", "x/y/z"]


def test_several_roots_stand_under_their_names(root: Path, tmp_path: Path) -> None:
    repository(tmp_path / "one")
    roots = mount_paths([str(root), str(tmp_path / "one")])
    found = Catalogue(roots, Index(), Configs()).listing()
    assert paths(found)[:2] == ["one", "root/a"]


def test_cut_at_its_limits_and_says_so(root: Path) -> None:
    cut = listing(root, repositories=2)
    assert len(cut.entries) == 2
    assert cut.is_cut
    assert not listing(root, repositories=5).is_cut
    tired = listing(root, entries=4)
    assert tired.is_cut
    assert len(tired.entries) < 5


def test_new_one_shows_once_the_list_is_old(root: Path) -> None:
    catalogue = Catalogue(mount_paths([str(root)]), Index(cache_seconds=0), Configs())
    assert "new" not in paths(catalogue.listing())
    repository(root / "new")
    assert "new" in paths(catalogue.listing())


def test_list_is_kept_for_its_time(root: Path) -> None:
    catalogue = Catalogue(mount_paths([str(root)]), Index(cache_seconds=3600), Configs())
    first = catalogue.listing()
    catalogue._good_until += 3600
    repository(root / "new")
    assert catalogue.listing() is first
