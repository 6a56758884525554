"""A long batch reply travels packed, and every client reads it: docs/notes/compressed-texts.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.history import nodes
from tests.compat.rawhttp import request
from tests.compat.serving import IS_STOCK, Serve
from tests.compat.sources import Source

pytestmark = pytest.mark.skipif(IS_STOCK, reason="stock never compresses a text")

HEADS_AND_KNOWN = {"X-HgArg-1": f"cmds=heads+%3Bknown+nodes%3D{'0' * 40}"}
CLIENT = {"X-HgProto-1": "0.1 0.2 comp=zstd,zlib,none,bzip2 partial-pull"}


def test_heads_of_many_come_compressed(source: Source, serve: Serve) -> None:
    address = serve(source("many_heads")).address
    plain = request(address, "/?cmd=batch", HEADS_AND_KNOWN)
    packed = request(address, "/?cmd=batch", HEADS_AND_KNOWN | CLIENT)
    assert plain.header("content-type") == "application/mercurial-0.1"
    assert packed.header("content-type") == "application/mercurial-0.2"
    assert packed.body[:5] == b"\x04zstd"
    assert len(plain.body) > 40 * 2000
    assert len(packed.body) < 0.6 * len(plain.body)
    assert packed.header("content-length") == str(len(packed.body))


@pytest.mark.parametrize("engines", ["zstd", "zlib"])
def test_client_pulls_after_a_packed_batch(
    hg: Hg, source: Source, serve: Serve, tmp_path: Path, engines: str
) -> None:
    """Discovery, and then more on the same connection."""
    origin = source("many_heads")
    url = serve(origin, "--config", f"server.compressionengines={engines}").url
    clone = tmp_path / "clone"
    hg("clone", "--noupdate", "--rev", "1", url, clone)
    assert hg.run("incoming", "--quiet", url, cwd=clone).out
    hg("pull", url, cwd=clone)
    assert sorted(nodes(hg, clone)) == sorted(nodes(hg, origin))
    assert hg.run("incoming", url, cwd=clone, expect=1).out
    assert hg.run("outgoing", url, cwd=clone, expect=1).out
