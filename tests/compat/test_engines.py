"""Which compression engine a real client and the server agree on, by the server's access log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.history import assert_same
from tests.compat.serving import IS_STOCK, Serve, Serving
from tests.compat.sources import Source

pytestmark = pytest.mark.skipif(IS_STOCK, reason="stock's access log names no engine")

# What a Mercurial built without zstd is like.
WITHOUT_ZSTD = """\
from mercurial.utils import compression
compression._zstdengine.available = lambda self: False
"""

GETBUNDLE = re.compile(r" 200 \d+ \S+ getbundle (\S+) ok ")


def engines_used(server: Serving) -> list[str]:
    return GETBUNDLE.findall(server.log())


@pytest.mark.parametrize(
    ("engines", "expected"),
    [
        ("", "zstd"),
        ("zlib,zstd", "zlib"),
        ("bz2,zstd", "bz2"),
        ("none", "none"),
        ("none,zlib", "none"),
        ("zstd,none,zlib", "zstd"),
    ],
)
def test_server_order_wins(
    hg: Hg, engines: str, expected: str, source: Source, serve: Serve, tmp_path: Path
) -> None:
    options = ("--config", f"server.compressionengines={engines}") if engines else ()
    server, clone = serve(source("rich"), *options), tmp_path / "clone"
    before = len(engines_used(server))
    hg("clone", "--noupdate", server.url, clone)
    assert engines_used(server)[before:] == [expected]
    assert_same(hg, clone, source("rich"), without=[b"phase", b"tag"])


@pytest.mark.parametrize(
    ("engines", "expected"), [("", "zlib"), ("zstd,none,zlib", "none"), ("zstd", "zlib")]
)
def test_client_without_zstd_gets_the_next(
    hg: Hg, engines: str, expected: str, source: Source, serve: Serve, tmp_path: Path
) -> None:
    """Where nothing is common there is still 0.1 with zlib."""
    options = ("--config", f"server.compressionengines={engines}") if engines else ()
    server, clone = serve(source("rich"), *options), tmp_path / "clone"
    extension = tmp_path / "without_zstd.py"
    extension.write_text(WITHOUT_ZSTD)
    client = hg.with_config(f"extensions.without-zstd={extension}")
    client("clone", "--noupdate", server.url, clone)
    assert engines_used(server)[-1] == expected
    assert_same(hg, clone, source("rich"), without=[b"phase", b"tag"])


@pytest.mark.parametrize(
    "level",
    ["server.zstdlevel=1", "server.zstdlevel=19", "server.zliblevel=0", "server.zliblevel=9"],
)
def test_each_level_is_readable(
    hg: Hg, level: str, source: Source, serve: Serve, tmp_path: Path
) -> None:
    engine = "zstd" if "zstd" in level else "zlib"
    server = serve(
        source("rich"), "--config", level, "--config", f"server.compressionengines={engine}"
    )
    hg("clone", "--noupdate", server.url, tmp_path / "clone")
    assert engines_used(server)[-1] == engine
    assert_same(hg, tmp_path / "clone", source("rich"), without=[b"phase", b"tag"])


def test_stream_clone_is_never_compressed(
    hg: Hg, source: Source, serve: Serve, tmp_path: Path
) -> None:
    server = serve(source("rich"))
    hg("clone", "--stream", "--noupdate", server.url, tmp_path / "clone")
    assert engines_used(server)[-1] == "none"
