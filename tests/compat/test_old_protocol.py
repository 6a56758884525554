"""What older and odder clients ask: bundle1, discovery by walking, arguments in every place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.history import assert_same, bookmarks, nodes, verify
from tests.compat.rawhttp import request
from tests.compat.serving import IS_STOCK, Serve
from tests.compat.sources import Source
from tests.compat.warm import WARM

BUNDLE1 = "devel.legacy.exchange=bundle1"
PUBLISHED = [b"phase"]

# A client that knows some capabilities not at all, whatever the server says.
NOT_CAPABLE = """\
from mercurial import extensions
try:
    from mercurial.exchanges.peer import Peer
except ImportError:
    from mercurial.wireprotov1peer import wirepeer as Peer
WORDS = {words!r}
def capable(orig, self, name, *args, **kwargs):
    return False if name in WORDS else orig(self, name, *args, **kwargs)
def extsetup(ui):
    for cls in Peer.__mro__:
        if 'capable' in cls.__dict__:
            extensions.wrapfunction(cls, 'capable', capable)
            break
"""


def without_words(hg: Hg, folder: Path, *words: bytes) -> Hg:
    extension = folder / "notcapable.py"
    extension.write_text(NOT_CAPABLE.format(words=set(words)))
    return hg.with_config(f"extensions.notcapable={extension}")


@pytest.mark.parametrize(
    "how", [(), ("--stream",), ("--rev", "stable")], ids=["plain", "stream", "rev"]
)
def test_bundle1_clone_and_pull(
    hg: Hg, how: tuple[str, ...], source: Source, serve: Serve, tmp_path: Path
) -> None:
    repository, clone, client = source("rich"), tmp_path / "clone", hg.with_config(BUNDLE1)
    url = serve(repository).url
    said = client("clone", "--noupdate", *how, url, clone)
    assert (b"streaming all changes" in said) == (how == ("--stream",))
    client("pull", url, cwd=clone)
    assert_same(hg, clone, repository, without=[*PUBLISHED, b"tag", b"bookmark"])


def test_bundle1_incoming(hg: Hg, source: Source, serve: Serve, tmp_path: Path) -> None:
    repository, clone, client = source("rich"), tmp_path / "clone", hg.with_config(BUNDLE1)
    url = serve(repository).url
    client("clone", "--noupdate", "--rev", "12", url, clone)
    out = client("incoming", "--template", "{node}\n", url, cwd=clone)
    found = [line for line in out.decode().split() if len(line) == 40]
    assert found == nodes(WARM, repository, "all() - ::12")


@pytest.mark.parametrize(
    "words",
    [
        (b"bundle2",),
        (b"bundle2", b"getbundle"),
        (b"bundle2", b"known", b"getbundle"),
        (b"bundle2", b"known", b"getbundle", b"changegroupsubset"),
        (b"batch",),
        (b"branchmap",),
        (b"httpheader", b"httppostargs"),
        (b"httpmediatype",),
        (b"lookup",),
    ],
    ids=lambda words: b"-".join(words).decode(),
)
def test_client_without(
    hg: Hg, words: tuple[bytes, ...], source: Source, serve: Serve, tmp_path: Path
) -> None:
    """Discovery then walks with `branches` and `between`; bundles come by `changegroup`."""
    repository, clone = source("rich"), tmp_path / "clone"
    client = without_words(hg, tmp_path, *words)
    url = serve(repository).url
    if b"lookup" in words or b"changegroupsubset" in words:
        hg("clone", "--noupdate", "--rev", "12", url, clone)
    else:
        client("clone", "--noupdate", "--rev", "12", url, clone)
    client("pull", url, cwd=clone)
    assert_same(hg, clone, repository, without=[*PUBLISHED, b"tag", b"bookmark"])


@pytest.mark.parametrize("postargs", ["yes", "no"])
def test_arguments_in_body_or_headers(hg: Hg, postargs: str, source: Source, serve: Serve) -> None:
    """A long argument spans several headers of at most `httpheader` bytes, or one body."""
    server = serve(source("empty"), "--config", f"experimental.httppostargs={postargs}")
    long = "x" * 20_000
    out = hg(
        "debugwireargs", server.url, "eins", "zw ei", "--three", "dr\u00fcei&=%", "--four", long
    )
    assert out == f"eins zw ei dr\u00fcei&=% {long} None\n".encode()


def test_legacy_phases_and_bookmarks_exchange(
    hg: Hg, source: Source, serve: Serve, tmp_path: Path
) -> None:
    """By `listkeys` instead of parts of a bundle2."""
    client = hg.with_config("devel.legacy.exchange=phases,bookmarks")
    clone = tmp_path / "clone"
    client("clone", "--noupdate", serve(source("drafts")).url, clone)
    verify(hg, clone)
    assert len(nodes(hg, clone, "draft()")) == len(
        nodes(WARM, source("drafts"), "draft() and not hidden()")
    )
    assert b"on-orphan" in bookmarks(hg, clone)


@pytest.mark.parametrize("setting", ["server.bundle1=no", "server.disablefullbundle=yes"])
def test_refusals_reach_the_user(
    hg: Hg, setting: str, source: Source, serve: Serve, tmp_path: Path
) -> None:
    """What an operator turned off is said in the operator's server's words."""
    server = serve(source("rich"), "--config", setting)
    client = hg.with_config(BUNDLE1) if "bundle1" in setting else hg
    done = client.run("clone", server.url, tmp_path / "clone", expect=None)
    assert done.status != 0
    said = done.out + done.err
    assert b"incompatible Mercurial client" in said or b"pull-based clones disabled" in said, said


@pytest.mark.parametrize("how", ["--stream", "--pull"])
def test_stream_that_is_off_is_a_normal_clone(
    hg: Hg, how: str, source: Source, serve: Serve, tmp_path: Path
) -> None:
    server = serve(source("rich"), "--config", "server.uncompressed=no")
    clone = tmp_path / "clone"
    said = hg("clone", "--noupdate", how, server.url, clone)
    assert b"streaming all changes" not in said
    assert_same(hg, clone, source("rich"), without=[*PUBLISHED, b"tag"])


def test_server_may_prefer_a_stream(hg: Hg, source: Source, serve: Serve, tmp_path: Path) -> None:
    server = serve(source("rich"), "--config", "server.preferuncompressed=yes")
    said = hg("clone", "--noupdate", server.url, tmp_path / "stream")
    assert b"streaming all changes" in said
    said = hg("clone", "--noupdate", "--pull", server.url, tmp_path / "pull")
    assert b"streaming all changes" not in said
    for clone in ("stream", "pull"):
        assert_same(hg, tmp_path / clone, source("rich"), without=[*PUBLISHED, b"tag"])


@pytest.mark.skipif(IS_STOCK, reason="stock has no such policy")
def test_near_clients_stream_by_themselves(source: Source, serve: Serve, tmp_path: Path) -> None:
    server = serve(source("rich"), "--config", "server.preferuncompressed=")
    said = WARM("clone", "--noupdate", server.url, tmp_path / "stream")
    assert b"streaming all changes" in said
    assert_same(WARM, tmp_path / "stream", source("rich"), without=[*PUBLISHED, b"tag"])
    asked = server.address, "/?cmd=capabilities"
    assert b"stream-preferred" in request(*asked).body
    assert b"stream-preferred" not in request(*asked, {"Via": "1.1 proxy"}).body


@pytest.mark.skipif(IS_STOCK, reason="stock needs this client's version 3 turned on")
def test_stream_3_where_asked_for(source: Source, serve: Serve, tmp_path: Path) -> None:
    config = "experimental.stream-v3=yes"
    server = serve(source("rich"), "--config", config)
    client = WARM.with_config(config)
    said = client("clone", "--noupdate", "--stream", server.url, tmp_path / "clone")
    assert b"entries to transfer" in said
    assert_same(WARM, tmp_path / "clone", source("rich"), without=[*PUBLISHED, b"tag"])
