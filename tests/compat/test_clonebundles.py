"""Clone bundles: a manifest that names bundles elsewhere, tried by clients before they ask us."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.history import assert_same
from tests.compat.rawhttp import request
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.compat.warm import WARM


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A plain web server over a folder: the CDN of the operator."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_clone_takes_the_bundle_and_pulls_the_rest(
    hg: Hg,
    writable: Source,
    serve_own: Serve,
    elsewhere: tuple[Path, str],
    tmp_path: Path,
) -> None:
    repository, clone = writable("rich"), tmp_path / "clone"
    folder, url = elsewhere
    WARM(
        "bundle",
        "--base",
        "null",
        "--rev",
        "20",
        "--type",
        "gzip-v2",
        folder / "old.hg",
        cwd=repository,
    )
    manifest = repository / ".hg" / "clonebundles.manifest"
    # The hgrc turns the extension on, as `hg help clonebundles` tells operators to.
    with (repository / ".hg" / "hgrc").open("a") as hgrc:
        hgrc.write("[extensions]\nclonebundles =\n")
    manifest.write_text(f"{url}/old.hg BUNDLESPEC=gzip-v2\n")
    server = serve_own(repository)
    said = hg("clone", "--noupdate", server.url, clone)
    assert b"applying clone bundle from " + url.encode() in said
    assert b"finished applying clone bundle" in said
    assert_same(hg, clone, repository, without=[b"phase", b"tag"])
    server.check_log()


def test_without_a_manifest_nothing_is_promised(source: Source, serve: Serve) -> None:
    words = request(serve(source("rich")).address, "/?cmd=capabilities").body.split()
    assert b"clonebundles" not in words
