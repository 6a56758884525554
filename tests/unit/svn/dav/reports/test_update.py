from __future__ import annotations

import subprocess

import pytest
from tests.unit.svn.repositories import Core, core

from trunkline.svn.dav.reports.update import LARGE

__all__ = ["core"]

REPORT = (
    b'<S:update-report send-all="true" xmlns:S="svn:"><S:src-path>/r/%s</S:src-path>'
    b'<S:include-props>yes</S:include-props><S:entry rev="2"%s/></S:update-report>'
)
EMPTY = b' start-empty="true"'


@pytest.mark.parametrize(
    ("path", "entry", "in_one"),
    [
        (b"trunk", EMPTY, True),
        (b"large", EMPTY, False),
        (b"large", b"", True),  # what has changed may be small
        (b"", EMPTY, True),  # two files, of which one is large: not usually so
    ],
)
def test_new_trees_of_large_files_are_lists(
    core: Core, path: bytes, entry: bytes, in_one: bool
) -> None:
    large = core.disk.parent / "large"
    large.mkdir()
    (large / "b").write_bytes(b"x" * (LARGE + 1))
    url = core.disk.as_uri()
    subprocess.run(["svn", "import", "-q", "-m", "m", str(large), f"{url}/large"], check=True)
    got, body = core.ask("REPORT", b"/!svn/me", REPORT % (path, entry))
    assert got.status == 200
    assert (b'send-all="true"' in body) is in_one
    assert (b"<S:txdelta" in body) is (in_one and bool(entry))
