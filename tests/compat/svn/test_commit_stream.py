"""Commit streams to a real server with two workers, and what stock `svn` then sees."""

from __future__ import annotations

import gzip
import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import md5
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import zstandard
from tests.compat.serving import Serving, serving, trunkline_command

from trunkline.svn.commit.encoder import Encoder, encode_question
from trunkline.svn.commit.names import MEDIA_TYPE
from trunkline.svn.commit.record import Form, Mode

HEADERS = {"Content-Type": MEDIA_TYPE.decode(), "X-SVN-Options": "no-merge-response"}
WAIT_SECONDS = 30
NUMBERS = count()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "repositories" / "r"
    path.parent.mkdir()
    subprocess.run(["svnadmin", "create", str(path)], check=True)
    yield path
    subprocess.run(["svnadmin", "verify", "-q", str(path)], check=True)
    assert said("svnadmin", "lstxns", str(path)) == ""


def options(disk: Path, *lines: str) -> tuple[str, ...]:
    folder = disk.parent.parent
    settings = folder / "settings.toml"
    head = ['allow_write = "anonymous"', "[subversion]", f'transactions = "{folder}/state"']
    settings.write_text("\n".join([*head, *lines]))
    return "--settings", str(settings), "--workers", "2"


def new_folder(disk: Path) -> Path:
    """A server's own: its log is, too."""
    return disk.parent.parent / f"server-{next(NUMBERS)}"


@contextmanager
def server(disk: Path, *lines: str) -> Iterator[Serving]:
    with serving(disk.parent, new_folder(disk), *options(disk, *lines)) as running:
        yield running


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def stream(key: bytes, files: int, size: int = 100) -> bytes:
    folder = b"/" + key
    encoder = Encoder(key)
    pieces = [encoder.begin(), encoder.revprop(b"svn:log", key), encoder.mkdir(folder)]
    for at in range(files):
        text = b"%d" % at * size
        digest = md5(text).hexdigest().encode()
        pieces.append(encoder.text(folder + b"/%d" % at, None, Mode.ADD, Form.WHOLE, None, digest))
        pieces += [encoder.data(text), encoder.end_text()]
    return b"".join([*pieces, encoder.end(release_locks=False)])


def post(
    running: Serving, body: bytes | Iterator[bytes], **headers: str
) -> tuple[int, bytes, str | None]:
    parts = urlsplit(running.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    sent = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection.request("POST", "/r/!svn/me", body=body, headers=sent, encode_chunked=True)
    got = connection.getresponse()
    found = got.status, got.read(), got.getheader("trunkline-commit-outcome")
    connection.close()
    return found


CODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("identity", bytes),
    ("zstd", zstandard.ZstdCompressor().compress),
    ("gzip", gzip.compress),
]


def test_a_commit_is_what_stock_svn_sees(disk: Path, tmp_path: Path) -> None:
    with server(disk) as running:
        for coding, pack in CODINGS:
            body = pack(stream(coding.encode(), 100, 2000))
            chunks = (body[at : at + 10_000] for at in range(0, len(body), 10_000))
            status, answer, _ = post(
                running, chunks, Content_Encoding=coding, Transfer_Encoding="chunked"
            )
            assert status == 200, answer
        said("svn", "checkout", "-q", running.url + "/r", str(tmp_path / "copy"))
        assert (tmp_path / "copy" / "zstd" / "99").read_text() == "99" * 2000
        assert len(list((tmp_path / "copy").rglob("*/*"))) > 300
        assert said("svn", "log", "-q", running.url + "/r").count("r3 |") == 1


def test_a_key_commits_once_whoever_asks_and_when(disk: Path) -> None:
    """Many at once, over both workers; then after a restart."""
    body = stream(b"once", 50)
    with server(disk) as running, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: post(running, body), range(8)))
        assert {(status, answer) for status, answer, _ in found} == {(200, found[0][1])}
        assert [outcome for _, _, outcome in found].count(None) == 1
    with server(disk) as running:
        assert post(running, body) == (200, found[0][1], "repeated")
        assert post(running, encode_question(b"once")) == (200, found[0][1], "repeated")
        assert post(running, encode_question(b"other"))[::2] == (404, "unknown")
    assert said("svnlook", "youngest", str(disk)) == "1\n"


def begin(running: Serving, body: bytes) -> socket.socket:
    """A request that isn't finished."""
    parts = urlsplit(running.url)
    connection = socket.create_connection((parts.hostname or "", parts.port or 0))
    head = b"POST /r/!svn/me HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
    connection.sendall(head % (MEDIA_TYPE, len(body)) + body[: len(body) // 2])
    return connection


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    return [
        int(word)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for word in (task / "children").read_text().split()
    ]


def test_a_client_that_goes_away_leaves_nothing(disk: Path) -> None:
    body = stream(b"gone", 60, 20_000)
    with server(disk) as running:
        connection = begin(running, body)
        wait_for(lambda: said("svnadmin", "lstxns", str(disk)) != "")
        connection.close()
        wait_for(lambda: said("svnadmin", "lstxns", str(disk)) == "")
        assert post(running, body)[0] == 200
    assert said("svnlook", "youngest", str(disk)) == "1\n"


def test_a_server_that_is_killed_leaves_nothing(disk: Path) -> None:
    body = stream(b"killed", 60, 20_000)
    running = Serving(trunkline_command(disk.parent, *options(disk)), new_folder(disk))
    workers = children(running.pid)
    connection = begin(running, body)
    wait_for(lambda: said("svnadmin", "lstxns", str(disk)) != "")
    for pid in (running.pid, *workers):
        os.kill(pid, signal.SIGKILL)
    connection.close()
    assert said("svnadmin", "lstxns", str(disk)) != ""
    with server(disk) as running:
        assert post(running, body)[0] == 200
    assert said("svnlook", "youngest", str(disk)) == "1\n"


def test_a_commit_larger_than_memory_may_be(disk: Path) -> None:
    """Workers don't grow with it."""
    encoder = Encoder(b"large")

    def blocks() -> Iterator[bytes]:
        yield encoder.begin() + encoder.text(b"/f", None, Mode.ADD, Form.WHOLE)
        for _ in range(300):
            yield encoder.data(bytes(1024 * 1024))
        yield encoder.end_text() + encoder.end(release_locks=False)

    with server(disk) as running:
        assert post(running, iter([stream(b"small", 3)]), Transfer_Encoding="chunked")[0] == 200
        before = max(peak(pid) for pid in children(running.pid))
        assert post(running, blocks(), Transfer_Encoding="chunked")[0] == 200
        assert max(peak(pid) for pid in children(running.pid)) - before < 100_000
        assert said("svn", "info", "--show-item", "revision", running.url + "/r").strip() == "2"


def peak(pid: int) -> int:
    """KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def test_one_that_is_too_large_is_refused_with_words(disk: Path) -> None:
    with server(disk, "commit_bytes = 100_000", "commit_operations = 10") as running:
        for body in (stream(b"a", 9, 20_000), stream(b"b", 20)):
            status, answer, _ = post(running, body)
            assert (status, b"more than" in answer) == (413, True), answer
        assert post(running, stream(b"c", 9))[0] == 200
