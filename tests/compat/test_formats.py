"""Each format a repository can have on disk: read natively, or left to the installed Mercurial."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.history import assert_same, numbered_history
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.compat.warm import WARM

UNSTABLE = "enable-unstable-format-and-corrupt-my-data"

# What `hg init` is told, and whether a raw copy may be asked for.
FORMATS = {
    "no generaldelta": ("format.usegeneraldelta=no",),
    "no sparse-revlog": ("format.sparse-revlog=no",),
    "zlib chunks": ("format.revlog-compression=zlib",),
    "plain chunks": ("format.revlog-compression=none",),
    "no dotencode": ("format.dotencode=no",),
    "no fncache": ("format.usefncache=no",),
    "no share-safe": ("format.use-share-safe=no",),
    "persistent nodemap": (
        "format.use-persistent-nodemap=yes",
        "storage.revlog.persistent-nodemap.slow-path=allow",
    ),
    "bookmarks in the store": ("format.bookmarks-in-store=yes",),
    "internal phase": ("format.use-internal-phase=yes",),
    "archived phase": ("format.exp-archived-phase=yes",),
    "dirstate 2": ("format.use-dirstate-v2=yes", "storage.dirstate-v2.slow-path=allow"),
    # Not ours to read: the bridge answers.
    "old store": ("format.usestore=no",),
    "tree manifests": ("experimental.treemanifest=yes",),
    "changelog 2": (f"format.exp-use-changelog-v2={UNSTABLE}",),
    "revlog 2": (f"experimental.revlogv2={UNSTABLE}", "storage.fileindex.slow-path=allow"),
    "file index": ("format.use-fileindex-v1=yes", "storage.fileindex.slow-path=allow"),
}


@pytest.fixture(scope="module", params=sorted(FORMATS), ids=lambda name: name.replace(" ", "-"))
def repository(
    request: pytest.FixtureRequest, source: Source, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The history of `rich` in another format, whole chains of deltas made anew. Not written to."""
    target = tmp_path_factory.mktemp("format") / "source"
    config = [*FORMATS[request.param], "devel.bundle.delta="]
    hg = WARM.with_config(*config)
    hg("init", target)
    hg("pull", source("rich"), cwd=target)
    hg("pull", "--bookmark", "@", source("rich"), cwd=target)
    (target / ".hg" / "hgrc").write_text("".join(hgrc_lines(FORMATS[request.param])))
    return target


def hgrc_lines(settings: tuple[str, ...]) -> list[str]:
    """What the repository needs later on: leave to be slow."""
    lines = []
    for setting in settings:
        section, _, rest = setting.partition(".")
        lines.append(f"[{section}]\n{rest}\n")
    return lines


def test_clone_and_pull(repository: Path, host: Host, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    _, url = host.take(repository)
    WARM("clone", "--noupdate", "--rev", "20", url, clone)
    WARM("pull", url, cwd=clone)
    assert_same(WARM, clone, repository, without=[b"phase", b"bookmark", b"tag"])


def test_stream_clone(repository: Path, host: Host, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    _, url = host.take(repository)
    client = WARM.with_config(
        "storage.revlog.persistent-nodemap.slow-path=allow",
        "storage.fileindex.slow-path=allow",
        "storage.dirstate-v2.slow-path=allow",
    )
    client("clone", "--noupdate", "--stream", url, clone)
    # A copy is as sound as its source: of changelog 2, stock's own `verify` warns in both.
    said = client("verify", "--quiet", cwd=clone)
    assert said == client("verify", "--quiet", cwd=repository)
    assert numbered_history(client, clone, [b"phase", b"bookmark"]) == numbered_history(
        client, repository, [b"phase", b"bookmark"]
    )


@pytest.mark.parametrize("options", [(), ("--bookmarks",), ("--relative",)], ids=str)
def test_share(
    options: tuple[str, ...], writable: Source, serve_own: Serve, tmp_path: Path
) -> None:
    repository, share, clone = writable("rich"), tmp_path / "share", tmp_path / "clone"
    hg = WARM.with_config("extensions.share=")
    hg("share", "--noupdate", *options, repository, share)
    server = serve_own(share)
    WARM("clone", "--noupdate", server.url, clone)
    server.check_log()
    assert_same(WARM, clone, repository, without=[b"phase", b"bookmark", b"tag"])
    bookmarks = WARM("bookmarks", cwd=clone)
    assert (b"old point" in bookmarks) == ("--bookmarks" in options)


def test_read_only_store(writable: Source, serve_own: Serve, tmp_path: Path) -> None:
    """The service account may have no right to write: everything but a push works."""
    repository, clone = writable("rich"), tmp_path / "clone"
    for path in sorted(repository.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(0o555 if path.is_dir() else 0o444)
    server = serve_own(repository)
    for how in ("--pull", "--stream"):
        WARM("clone", "--noupdate", how, server.url, clone.with_name(how))
        assert_same(WARM, clone.with_name(how), repository, without=[b"phase", b"tag"])
    server.check_log()


def test_read_hook_is_obeyed(writable: Source, host: Host, tmp_path: Path) -> None:
    """`preoutgoing` may forbid a read; only the installed Mercurial can ask it."""
    repository = writable("rich")
    with (repository / ".hg" / "hgrc").open("a") as hgrc:
        hgrc.write("[hooks]\npreoutgoing = false\n")
    _, url = host.take(repository)
    done = WARM.run("clone", url, tmp_path / "clone", expect=None)
    assert done.status != 0
    assert b"preoutgoing hook" in done.out + done.err
