"""What is served never comes from where a symlink leads out, though all would be sound there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.compat.warm import WARM
from tests.unit.hg.store.repositories import sample
from tests.unit.http.conftest import commit, new
from tests.unit.http.driving import Reply, get, make_app

from trunkline.hg.store.links import A_LINK

BUNDLE2 = "bundlecaps=HG20,bundle2%3Dchangegroup%253D02"
ASKS = {
    "normal": f"getbundle&cg=1&{BUNDLE2}",
    "stream": "stream_out",
    "keys": "listkeys&namespace=bookmarks",
}

# What is moved out of the repository and linked to, and what can't be asked for any more.
LINKS = [
    (".hg/store", "normal stream keys"),
    (".hg/requires", "normal stream keys"),
    (".hg/store/requires", "normal stream keys"),
    (".hg/store/00changelog.i", "normal stream keys"),
    (".hg/store/00manifest.i", "normal stream"),
    (".hg/store/fncache", "stream"),
    (".hg/store/data", "normal stream"),
    (".hg/store/data/dir", "normal stream"),
    (".hg/store/data/a.i", "normal stream"),
    (".hg/store/data/big.i", "normal stream"),
    (".hg/store/data/big.d", "normal stream"),
    (".hg/store/phaseroots", "keys"),
    (".hg/bookmarks", "keys"),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = sample(tmp_path_factory.mktemp("sound") / "r")
    WARM("phase", "--draft", "--force", "--rev", "all()", cwd=path)
    WARM("bookmark", "mark", cwd=path)
    return path


def is_refused(reply: Reply) -> bool:
    return reply.status == 500 or reply.error is not None


@pytest.mark.parametrize(("name", "refused"), LINKS)
def test_nothing_of_a_repository_is_read_through_a_symlink(
    name: str, refused: str, sound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inside, outside = tmp_path / "served" / "r", tmp_path / "outside"
    shutil.copytree(sound, inside, symlinks=True)
    (inside / name).rename(outside)
    (inside / name).symlink_to(outside)
    app = make_app(inside.parent)
    for ask in refused.split():
        caplog.clear()
        reply = get(app, f"/r?cmd={ASKS[ask]}")
        assert is_refused(reply), ask
        assert bytes(tmp_path) not in reply.body
        said = [record.getMessage() for record in caplog.records]
        assert any(A_LINK in line and f"{inside / name}" in line for line in said), said
        assert "Traceback" not in caplog.text


def test_nobody_waits_for_a_pipe_in_a_files_place(sound: Path, tmp_path: Path) -> None:
    inside = tmp_path / "served" / "r"
    shutil.copytree(sound, inside, symlinks=True)
    for name in ("data/a.i", "00manifest.i", "00changelog.i"):
        path, aside = inside / ".hg/store" / name, tmp_path / "aside"
        path.rename(aside)
        os.mkfifo(path)
        app = make_app(inside.parent)  # another one may hold what was there open
        assert is_refused(get(app, f"/r?cmd={ASKS['normal']}")), name
        aside.replace(path)


def test_a_symlink_that_comes_later_is_seen(sound: Path, tmp_path: Path) -> None:
    inside, outside = tmp_path / "served" / "r", tmp_path / "outside"
    shutil.copytree(sound, inside, symlinks=True)
    app = make_app(inside.parent)
    assert get(app, "/r?cmd=heads").status == 200
    (inside / ".hg/store").rename(outside)
    (inside / ".hg/store").symlink_to(outside)
    assert get(app, "/r?cmd=heads").status == 500


def test_share_may_have_its_source_anywhere(sound: Path, tmp_path: Path) -> None:
    share = tmp_path / "served" / "share"
    share.parent.mkdir()
    WARM.with_config("extensions.share=")("share", "--noupdate", sound, share)
    app = make_app(share.parent)
    assert get(app, f"/share?cmd={ASKS['stream']}").is_whole


def test_ready_made_bundles_are_not_taken_from_elsewhere(sound: Path, tmp_path: Path) -> None:
    inside, outside = tmp_path / "served" / "r", tmp_path / "outside"
    shutil.copytree(sound, inside, symlinks=True)
    outside.mkdir()
    (outside / "file").write_bytes(b"not for everybody")
    (inside / ".hg/clonebundles.manifest").symlink_to(outside / "file")
    (inside / ".hg/bundle-cache").symlink_to(outside)
    (inside / ".hg/pullbundles.manifest").write_bytes(b"cache/file\n")
    (inside / ".hg/cache/file").symlink_to(outside / "file")
    app = make_app(inside.parent)
    partial = (b"x-hgproto-1", b"0.1 0.2 comp=none partial-pull")
    for ask in (
        "clonebundles_manifest",
        "get_cached_bundle_inline&path=file",
        f"getbundle&cg=1&heads={WARM('log', '-r', '0', '-T', '{node}', cwd=sound).decode()}"
        f"&{BUNDLE2}",
    ):
        assert b"not for everybody" not in get(app, f"/r?cmd={ask}", partial).body


@pytest.mark.parametrize("target", ["outside/.hg", "served/in/.hg", "outside"])
def test_repository_behind_a_link_to_elsewhere_is_neither_listed_nor_served(
    target: str, tmp_path: Path
) -> None:
    """Also: a link to a `.hg` would show the patch queue's repository in it."""
    served, outside = tmp_path / "served", tmp_path / "outside"
    commit(new(served / "in"), "a", b"1\n", "first")
    commit(new(served / "in/.hg/patches", "[web]\ndescription = hush\n"), "a", b"1\n", "first")
    commit(new(outside, "[web]\ndescription = hush\n"), "a", b"1\n", "first")
    (served / "half").mkdir()
    for link in ("link", "half/.hg"):
        (served / link).symlink_to(tmp_path / target)
    app = make_app(served)
    listed = get(app, "/").text
    assert "hush" not in listed
    assert ">in<" in listed
    for name in ("link", "link/patches"):
        assert get(app, f"/{name}?cmd=heads").status == 404
        assert get(app, f"/{name}").status == 404
    is_inside = target == "served/in/.hg"
    assert get(app, "/half?cmd=heads").status == (200 if is_inside else 404)
