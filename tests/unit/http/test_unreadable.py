"""Files that the server's account may not read: named in the log, refused in words.

As root, which may read everything, the requests are answered as another user.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.compat.warm import WARM
from tests.unit.hg.store.repositories import sample
from tests.unit.http.driving import Reply, get, make_app

from trunkline.http.app import App

NOBODY = 65534
ASKS = {
    "heads": "heads",
    "phases": "listkeys&namespace=phases",
    "getbundle": "getbundle&cg=1&bundlecaps=HG20,bundle2%3Dchangegroup%253D02",
    "stream_out": "stream_out",
}
WORDS = b"the repository can't be read; the server's log says why\n"


@contextmanager
def mere_user() -> Iterator[None]:
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture(scope="module")
def path() -> Iterator[Path]:
    """Where everybody may look, as in a test's own folder others may not."""
    with tempfile.TemporaryDirectory(prefix="trunkline-") as folder:
        os.chmod(folder, 0o755)
        path = sample(Path(folder) / "served" / "r")
        WARM("phase", "--draft", "--force", "-r", "0", cwd=path)
        subprocess.run(["chmod", "-R", "a+rX", path.parent], check=True)
        yield path


@pytest.fixture(scope="module")
def app(path: Path) -> App:
    """What asks `hg` has done so already: it couldn't be started by another user here."""
    app = make_app(path.parent)
    for name in ASKS:
        assert ask(app, name).is_whole
    return app


def ask(app: App, name: str) -> Reply:
    return get(app, f"/r?cmd={ASKS[name]}")


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("store", "heads phases getbundle stream_out"),
        ("hgrc", "heads phases getbundle stream_out"),  # a `deny_read` may stand in it
        ("requires", "heads phases getbundle stream_out"),
        ("store/requires", "heads phases getbundle stream_out"),
        ("store/00changelog.i", "heads phases getbundle stream_out"),
        ("store/phaseroots", "heads phases getbundle stream_out"),
        ("bookmarks", "heads phases getbundle stream_out"),
        ("store/00manifest.i", "getbundle stream_out"),
        ("store/fncache", "stream_out"),
        ("store/data", "getbundle stream_out"),
        ("store/data/dir", "getbundle stream_out"),
        ("store/data/a.i", "getbundle stream_out"),
        ("store/data/big.i", "getbundle stream_out"),
        ("store/data/big.d", "getbundle stream_out"),
        ("cache", ""),
    ],
)
def test_what_must_not_be_read_is_named_and_refused(
    name: str, refused: str, path: Path, app: App, caplog: pytest.LogCaptureFixture
) -> None:
    target = path / ".hg" / name
    target.touch()
    with mere_user():
        assert ask(app, "getbundle").is_whole
    mode = target.stat().st_mode
    target.chmod(0)
    os.utime(target)  # so that it must be read again
    try:
        for each in ASKS:
            caplog.clear()
            with mere_user():
                reply = ask(app, each)
            if each not in refused.split():
                assert reply.is_whole
                assert reply.status == 200
                continue
            assert (reply.status, reply.body) == (500, WORDS) or reply.error is not None
            assert "Permission denied" in caplog.text
            assert f"[{target}" in caplog.text
            assert "Traceback" not in caplog.text
    finally:
        target.chmod(mode)
    with mere_user():
        assert all(ask(app, each).is_whole for each in ASKS)


def test_what_must_not_be_read_is_not_listed(path: Path) -> None:
    hgrc = path / ".hg" / "hgrc"
    hgrc.touch()
    hgrc.chmod(0)
    try:
        with mere_user():
            assert b'href="r/"' not in get(make_app(path.parent), "/").body
    finally:
        hgrc.unlink()
    assert b'href="r/"' in get(make_app(path.parent), "/").body


@pytest.mark.parametrize(("mode", "verb"), [(0o700, "enter"), (0o711, "list")])
def test_a_folder_that_must_not_be_entered_or_listed_is_named_once(
    mode: int, verb: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = path.parent / verb
    folder.mkdir(mode=mode)
    folder.chmod(mode)
    words = f"{folder}: the server's account can't {verb} it (permission denied)"
    with mere_user():
        app = make_app(path.parent)
        for _ in range(2):
            get(app, "/")
            for name in ("a", "b/c"):
                assert get(app, f"/enter/{name}?cmd=heads").status == 404
    assert [message for message in caplog.messages if "can't" in message] == [words]
    folder.chmod(mode)  # its ctime moves
    caplog.clear()
    with mere_user():
        get(make_app(path.parent), "/")
        get(app, "/enter/a?cmd=heads")
    assert words in caplog.messages
    folder.rmdir()
