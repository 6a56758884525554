"""`trunkline svn`: as `svn`, and through a gateway."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.compat.svn.gateway import gateway
from tests.compat.svn.test_gateway_faults import far_site


def test_commits_and_leaves_the_url_as_it_is(tmp_path: Path) -> None:
    with far_site(tmp_path, requests=0) as (site, link, _):
        ours = f"{sys.executable} -m trunkline svn"
        said = site.run(f"cd wc && echo 1 >a && {ours} add -q a && {ours} ci -m one 2>&1")
        assert "Committed revision 1." in said.lines, said
        assert site.run("svn info --show-item url wc").lines == ["URL"]
        assert site.run(f"cd wc && {ours} cat nothing").status == 1
        assert link.process.poll() is None


def test_goes_through_a_gateway_that_runs(tmp_path: Path) -> None:
    with far_site(tmp_path, requests=0) as (site, link, _):
        wrapper = tmp_path / "bin" / "svn"
        wrapper.parent.mkdir()
        wrapper.write_text('#!/bin/sh\necho "$@" >>$HOME/said; exec /usr/bin/svn "$@"\n')
        wrapper.chmod(0o755)
        with gateway(f"http://127.0.0.1:{link.port}") as running:
            ours = f"PATH={wrapper.parent}:$PATH {sys.executable} -m trunkline svn"
            commit = f"cd wc && date +%N >>a && svn add -q --force a && {ours} ci -qm one"
            site.run(f"export CACHE_DIRECTORY={running.cache}; {commit}", expect_ok=True)
            said = (site.folder / "said").read_text()
            assert f"http-proxy-port={running.port}" in said
        site.run(commit, expect_ok=True)
        last = (site.folder / "said").read_text().removeprefix(said)
        assert "http-proxy-port=" in last
        assert f"http-proxy-port={running.port}" not in last


def test_shows_on_a_terminal_only_how_far_it_is(tmp_path: Path) -> None:
    with far_site(tmp_path, requests=0) as (site, *_):
        hook = site.disk / "hooks" / "pre-commit"
        hook.write_text("#!/bin/sh\nsleep 2\n")
        hook.chmod(0o755)
        ours = f"{sys.executable} -m trunkline svn ci -qm 1"
        site.run("cd wc && touch a && svn add -q a")
        assert site.run(f"cd wc && {ours}").lines == []
        terminal, theirs = os.openpty()
        done = subprocess.run(
            ["bash", "-c", f"echo >>a; {ours}"],
            cwd=site.folder / "wc",
            env={**os.environ, "HOME": str(site.folder)},
            stderr=theirs,
            check=True,
            stdout=subprocess.PIPE,
        )
        shown = os.read(terminal, 65536).decode()
        assert "all sent; the server commits (1 s)" in shown
        assert shown.endswith("\r\x1b[K")
        assert done.stdout == b""
