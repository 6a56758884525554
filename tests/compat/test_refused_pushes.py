"""Pushes that are refused: the client shows why, and the server's log names the rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.serving import Serve
from tests.compat.sources import Source

PLAIN = ("--config", "web.push_ssl=no")


@pytest.mark.parametrize(
    ("options", "words", "rule"),
    [
        ((), b"ssl required", "web.push_ssl"),
        (PLAIN, b"push not authorized", "web.allow-push"),
    ],
)
def test_a_refused_push_is_told_in_words(
    hg: Hg,
    options: tuple[str, ...],
    words: bytes,
    rule: str,
    source: Source,
    serve: Serve,
    tmp_path: Path,
) -> None:
    server = serve(source("tree") / "one", *options)
    hg("clone", server.url, tmp_path / "clone")
    (tmp_path / "clone" / "new").write_bytes(b"new\n")
    hg("commit", "--addremove", "--message", "new", cwd=tmp_path / "clone")
    hg("bookmark", "mine", cwd=tmp_path / "clone")
    for how in ((), ("--config", "devel.legacy.exchange=bundle1"), ("--bookmark", "mine")):
        done = hg.run("push", *how, cwd=tmp_path / "clone", expect=255)
        assert b"abort: remote error:\n" + words in done.err
    log = server.await_log(f"unbundle refused: {words.decode()} [")
    assert rule in log.split("unbundle refused: ")[-1].splitlines()[0]
