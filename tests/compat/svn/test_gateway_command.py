"""`trunkline svn`: as `svn`, and through a gateway."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.compat.svn.test_gateway_faults import far_site


def test_commits_and_leaves_the_url_as_it_is(tmp_path: Path) -> None:
    with far_site(tmp_path, requests=0) as (site, link, _):
        ours = f"{sys.executable} -m trunkline svn"
        said = site.run(f"cd wc && echo 1 >a && {ours} add -q a && {ours} ci -m one 2>&1")
        assert "Committed revision 1." in said.lines, said
        assert site.run("svn info --show-item url wc").lines == ["URL"]
        assert site.run(f"cd wc && {ours} cat nothing").status == 1
        assert link.process.poll() is None
