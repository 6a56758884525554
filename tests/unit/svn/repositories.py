"""Repositories for tests of the core, made by libsvn's own tools, and requests to them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from trunkline.reply import Bytes, Stream
from trunkline.svn.dav.answer import answer
from trunkline.svn.dav.exchange import Served
from trunkline.svn.dav.request import Answer, Request
from trunkline.svn.repository.session import Rules, Sessions
from trunkline.svn.txn.area import Area


@dataclass
class Core:
    """A repository with one revision: `/trunk/a`, asked without HTTP."""

    disk: Path
    served: Served
    user: bytes | None = None
    headers: dict[bytes, bytes] = field(default_factory=dict)

    def ask(
        self, method: str, path: bytes, body: bytes = b"", **headers: bytes
    ) -> tuple[Answer, bytes]:
        """`X_SVN_Options=b"..."` is a header. The whole body."""
        return self.ask_in_blocks(method, path, [body], **headers)

    def ask_in_blocks(
        self, method: str, path: bytes, blocks: Iterable[bytes], **headers: bytes
    ) -> tuple[Answer, bytes]:
        named = {name.replace("_", "-").lower().encode(): value for name, value in headers.items()}
        request = Request(
            method=method,
            base=b"/r",
            raw_path=path,
            query=b"",
            headers={b"user-agent": b"SVN/1.14", **named},
            blocks=blocks,
            user=self.user,
            may_write=True,
        )
        got = answer(self.served, request)
        return got, read(got)


def read(got: Answer) -> bytes:
    if isinstance(got.body, Bytes):
        return got.body.data
    assert isinstance(got.body, Stream)
    return b"".join(got.body.blocks)


def make_core(folder: Path, rules: str | None = None) -> Iterator[Core]:
    disk = folder / "repository"
    subprocess.run(["svnadmin", "create", str(disk)], check=True)
    (folder / "import" / "trunk").mkdir(parents=True)
    (folder / "import" / "trunk" / "a").write_text("one\n")
    url = disk.as_uri()
    subprocess.run(["svn", "import", "-q", "-m", "m", str(folder / "import"), url], check=True)
    given = None
    if rules is not None:
        (folder / "authz").write_text(rules)
        given = Rules(bytes(folder / "authz"), b"r")
    sessions = Sessions(4)
    yield Core(disk, Served(bytes(disk), 1, sessions, Area(str(folder / "area")), rules=given))
    sessions.close()
    subprocess.run(["svnadmin", "verify", "-q", str(disk)], check=True)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    yield from make_core(tmp_path)
