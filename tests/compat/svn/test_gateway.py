"""Stock `svn` through the gateway to a stock Apache: the same outcome, and no waits in between."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.compat.svn import apache
from tests.compat.svn.client import Said, Site
from tests.compat.svn.gateway import Running, gateway, slow_link
from tests.compat.svn.repository import make_repository

ROUND_TRIP = 60  # milliseconds


@dataclass(frozen=True)
class Far:
    """A URL that is a slow link away, and the gateway to it."""

    url: str
    link: Running
    gateway: Running


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """That Apache's own account can enter."""
    path = Path(tempfile.mkdtemp(prefix="trunkline-gateway-"))
    path.chmod(0o755)
    (path / "repositories").mkdir()
    (path / "apache").mkdir()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def far(folder: Path) -> Iterator[Far]:
    with apache.apache(folder / "repositories", folder / "apache") as url:
        port = int(url.split(":")[2].partition("/")[0])
        with slow_link(port, ROUND_TRIP) as link:
            server = f"http://127.0.0.1:{link.port}"
            with gateway(server) as running:
                yield Far(f"{server}/svn", link, running)


class Through(Site):
    """`$G` are the options that name the gateway."""

    def __init__(self, url: str, disk: Path, folder: Path, far: Far) -> None:
        super().__init__(url, disk, folder)
        self.options = far.gateway.options
        self.cut = far.link.cut

    def run(self, command: str, expect_ok: bool = False) -> Said:
        return super().run(f'G="{self.options}"; {command}', expect_ok)

    def transactions(self) -> list[str]:
        return sorted(os.listdir(self.disk / "db" / "transactions"))


@pytest.fixture
def site(folder: Path, far: Far, tmp_path: Path) -> Iterator[Through]:
    name = f"r{time.monotonic_ns()}"  # Apache remembers what was at a path
    disk = folder / "repositories" / name
    make_repository(disk, ())
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", apache.ACCOUNT, str(disk)], check=True)
    made = Through(f"{far.url}/{name}", disk, tmp_path / "site", far)
    made.run("svn mkdir -qm trunk $U/trunk $G && svn co -q $U/trunk wc $G", expect_ok=True)
    yield made
    shutil.rmtree(disk)


def test_commits_all_kinds_of_changes(site: Through) -> None:
    site.run(
        "cd wc && mkdir d 'e f' && echo a >a && echo b >d/b && : >'e f/empty & %41' && "
        "svn add -q a d 'e f' && svn ps -q x y a d && svn ci -qm one $G && svn up -q $G && "
        "svn cp -q d d2 && echo more >>d2/b && svn cp -q a a2 && echo more >>a2 && svn rm -q a && "
        "echo again >a && svn add -q a && svn pd -q x d && svn ci -qm two $G",
        expect_ok=True,
    )
    site.verify()
    said = site.run("svn log -qv -r HEAD $U", expect_ok=True)
    assert [line.strip() for line in said.lines if line.startswith("   ")] == [
        "A /trunk/a2 (from /trunk/a:2)",
        "A /trunk/d2 (from /trunk/d:2)",
        "M /trunk/d",
        "M /trunk/d2/b",
        "R /trunk/a",
    ]
    assert site.run("cd wc && svn st && svn up -q $G && svn diff -r HEAD $G").lines == []
    assert site.transactions() == []


def test_tells_of_a_file_that_is_there_already(site: Through) -> None:
    site.run("svn co -q $U/trunk other && cd other && echo 1 >a && svn add -q a && svn ci -qm 1")
    said = site.run("cd wc && echo 2 >a && svn add -q a && svn ci -m 2 $G")
    assert said.status == 1
    assert "svn: E160020: File '/trunk/a' already exists" in said.lines
    assert site.transactions() == []


def test_tells_of_a_file_that_is_out_of_date(site: Through) -> None:
    site.run("cd wc && echo 1 >a && svn add -q a && svn ci -qm 1 $G && svn up -q", expect_ok=True)
    site.run("svn co -q $U/trunk other && cd other && echo 2 >>a && svn ci -qm 2", expect_ok=True)
    said = site.run("cd wc && echo 3 >>a && svn ci -m 3 $G")
    assert said.status == 1
    assert any("out of date" in line and "a'" in line for line in said.lines), said.lines
    assert site.transactions() == []


def test_a_lost_client_leaves_nothing(site: Through) -> None:
    site.run("cd wc && head -c 30000000 /dev/urandom >a && svn add -q a", expect_ok=True)
    site.run("cd wc && timeout -s KILL 0.5 svn ci -qm 1 $G")
    deadline = time.monotonic() + 20
    while site.transactions() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert site.transactions() == []
    assert site.run("svn log -q $U").lines[:1] != []
    assert not any("r2 " in line for line in site.run("svn log -q $U").lines)


def test_many_files_cost_a_few_round_trips(site: Through) -> None:
    site.run("cd wc && for i in $(seq 40); do echo $i >f$i; done; svn add -q f*", expect_ok=True)
    begun = time.monotonic()
    site.run("cd wc && svn ci -qm many $G", expect_ok=True)
    assert time.monotonic() - begun < 80 * ROUND_TRIP / 1000  # stock: two for each file, and more


def test_looks_up_a_lost_answer_before_anything_is_sent_again(site: Through) -> None:
    """The link is cut while the upstream commits: in its post-commit hook."""
    hook = site.disk / "hooks" / "post-commit"
    hook.write_text("#!/bin/sh\ntouch $1/committed\nsleep 2\n")
    hook.chmod(0o755)
    begun = subprocess.Popen(
        ["bash", "-c", f"echo 1 >a; svn add -q a; svn ci -m once {site.options}"],
        cwd=site.folder / "wc",
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 20
    while not (site.disk / "committed").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    site.cut()
    said = begun.communicate(timeout=60)[0]
    assert "Committed revision 2." in said
    assert sum("r" in line[:1] for line in site.run("svn log -q $U").lines) == 2


def ask(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(request)
        return sock.recv(4096)


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET http://elsewhere.example/ HTTP/1.1", b"403"),
        (b"GET http://127.0.0.1:1/ HTTP/1.1", b"403"),
        (b"GET / HTTP/1.1", b"400"),
        (b"CONNECT elsewhere.example:443 HTTP/1.1", b"501"),
        (b"nonsense", b"400"),
    ],
)
def test_is_no_open_proxy(far: Far, request_line: bytes, status: bytes) -> None:
    said = ask(far.gateway.port, request_line + b"\r\nHost: elsewhere.example\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 " + status)
