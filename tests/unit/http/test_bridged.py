"""What the door says of a repository that goes through the bridge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.http.conftest import commit, new
from tests.unit.http.driving import Client, ask, busy, get, make_app, post

from trunkline.config.settings import Log, Settings
from trunkline.hg.stock.bridge import close_shared_pool

JSON = b"application/vnd.git-lfs+json"

EXTENSION = """
from mercurial import wireprototypes, wireprotov1server

@wireprotov1server.wireprotocommand(b"greet", b"name", permission=b"pull")
def greet(repo, proto, name):
    if name == b"nobody":
        raise RuntimeError("whom?")
    return wireprototypes.bytesresponse(b"hello " + name)
"""


@pytest.fixture(autouse=True)
def pool() -> Iterator[None]:
    yield
    close_shared_pool()


def bridged(path: Path, hgrc: str) -> Path:
    repository = new(path, f"[trunkline]\nnative = no\n{hgrc}")
    commit(repository, "a", b"a\n", "a")
    return repository


def test_command_of_an_extension_is_logged_by_its_name(tmp_path: Path) -> None:
    """One that nobody has isn't."""
    extension, log = tmp_path / "greeting.py", tmp_path / "access.log"
    extension.write_text(EXTENSION)
    repository = bridged(tmp_path / "r", f"[extensions]\ngreeting = {extension}\n")
    app = make_app(repository, settings=Settings(log=Log(access=str(log), format="json")))
    targets = (
        "/?cmd=greet&name=you",
        "/?cmd=greet&name=nobody",
        "/?cmd=heads",
        "/?cmd=gr%0aeet",
        "/?cmd=nosuch",
    )
    replies = [ask(app, Client("GET", target))[0] for target in targets]
    assert replies[0].body == b"hello you"
    assert [reply.status for reply in replies[:2]] == [200, 500]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["command"] for line in lines] == ["greet", "greet", "heads", None, None]


def test_settings_of_web_hold(tmp_path: Path) -> None:
    repository = bridged(tmp_path / "r", "[web]\nname = Ginger\ndescription = all about it\n")
    page = get(make_app(repository), "/", (b"accept", b"text/html")).text
    assert "Ginger" in page
    assert "all about it" in page


def test_pulls_that_are_not_allowed_are_refused(tmp_path: Path) -> None:
    repository = bridged(tmp_path / "r", "[web]\nallow-pull = no\n")
    app = make_app(repository)
    assert get(app, "/?cmd=heads").status in (401, 403)
    assert get(app, "/?cmd=getbundle").status in (401, 403)


def test_where_contents_are_not_served_that_is_said(tmp_path: Path) -> None:
    app = make_app(new(tmp_path / "r"))
    headers = (b"accept", JSON), (b"content-type", JSON)
    body = b'{"operation": "download", "objects": []}'
    reply = post(app, "/.git/info/lfs/objects/batch", body, *headers)
    assert reply.status == 400
    assert json.loads(reply.body)["message"].startswith("the contents of large files (LFS) aren't")
    assert get(app, "/a/b/.git/info/lfs").status == 404


def test_native_and_bridged_repositories_wait_for_threads_of_their_own(tmp_path: Path) -> None:
    commit(new(tmp_path / "native"), "a", b"a\n", "a")
    bridged(tmp_path / "bridged", "")
    app = make_app(tmp_path)

    async def run() -> None:
        app.open()
        for _ in range(2):  # it isn't known at first
            with busy(app.crew.bridge_threads):
                waiting = asyncio.create_task(Client(target="/bridged?cmd=heads").ask(app))
                reply = await Client(target="/native?cmd=heads").ask(app)
                assert reply.status == 200
                while "127.0.0.1" not in app.crew.bridge_threads._waiting:
                    await asyncio.sleep(0.01)
                assert len(app.crew.threads._idle) == app.crew.threads.count
                assert not waiting.done()
            assert (await waiting).status == 200
        with busy(app.crew.threads):
            assert (await Client(target="/bridged?cmd=heads").ask(app)).status == 200
        app.close_threads()

    asyncio.run(run())
