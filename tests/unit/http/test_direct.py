"""Replies that the kernel sends: what comes over the wire, from real servers."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.compat.rawhttp import whole_body
from tests.compat.serving import Serving, trunkline_command
from tests.unit.http.test_app import getbundle
from tests.unit.http.test_server import ask, children, connect, read_all, request

from trunkline.errors import StoreError
from trunkline.http.connection import find_connection, has_unsent
from trunkline.http.direct import head
from trunkline.spool.outgoing import copy_out, is_in_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's own sendfile")


def serve(folder: Path, made: Path, sendfile: str) -> Serving:
    settings = folder / "s.toml"
    settings.write_text(f"[server]\nsendfile = {sendfile}\nworkers = 1\n[spool]\npath = 'spool'\n")
    return Serving(trunkline_command(made, "--settings", str(settings)), folder)


@pytest.fixture(scope="module")
def direct(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    server = serve(tmp_path_factory.mktemp("direct"), made, "true")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def by_library(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    server = serve(tmp_path_factory.mktemp("library"), made, "false")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def asked(made: Path) -> str:
    return "/big" + getbundle(made / "big")


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Ours, which never waits, and the client's."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        theirs = socket.create_connection(listening.getsockname())
        ours, _ = listening.accept()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def until(error: type[OSError], work: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            work()
        except error:
            return
    pytest.fail(f"no {error.__name__}")


def test_bytes_are_the_same_and_the_connection_ends(
    asked: str, direct: Serving, by_library: Serving
) -> None:
    """A file that grows comes in chunks, one that is whole has its length."""
    expected = whole_body(ask(by_library, request(asked)))
    assert expected
    replies = [ask(direct, request(asked, close=False)) for _ in range(3)]
    for reply in replies:
        assert whole_body(reply) == expected
        lines = reply.partition(b"\r\n\r\n")[0].split(b"\r\n")
        assert lines[0] == b"HTTP/1.1 200 OK"
        assert b"connection: close" in lines
        assert [line for line in lines if line.startswith(b"date: ")]
    assert b"\r\ncontent-length: " in replies[-1]


def test_what_was_asked_before_is_whole(asked: str, direct: Serving) -> None:
    """On the same connection, in one piece."""
    expected = whole_body(ask(direct, request(asked)))
    with connect(direct) as wire:
        wire.sendall(request("/big?cmd=heads", close=False) + request(asked, close=False))
        replies = read_all(wire)
    first, mark, second = replies[1:].partition(b"HTTP/1.1 ")
    assert b"\r\ncontent-length: 41\r\n" in first
    assert whole_body(mark + second) == expected


def test_nothing_stays_open(asked: str, direct: Serving) -> None:
    (worker,) = children(direct.pid)
    folder = Path(f"/proc/{worker}/fd")

    def count() -> int:
        return sum(os.readlink(entry).startswith("socket:") for entry in folder.iterdir())

    ask(direct, request(asked))
    before = count()
    for _ in range(10):
        assert whole_body(ask(direct, request(asked)))
    deadline = time.monotonic() + 60
    while count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert count() <= before


def test_client_that_leaves_is_noticed(asked: str, direct: Serving) -> None:
    with connect(direct) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.sendall(request(asked))
        wire.recv(1000)
    deadline = time.monotonic() + 60
    while " gone " not in direct.log() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert " gone " in direct.log()


def test_a_header_is_one_line() -> None:
    assert head(206, [(b"etag", b'"x"')], is_framed=True).startswith(b"HTTP/1.1 206 Partial")
    for header in ((b"a", b"b\r\nc: d"), (b"a\n", b"b"), (b"a", b"\0")):
        with pytest.raises(ValueError, match="more than one line"):
            head(200, [header], is_framed=False)


def test_connection_is_found_by_whom_it_leads_to(pair: tuple[socket.socket, ...]) -> None:
    ours, theirs = pair
    host, port = theirs.getsockname()
    found = find_connection((host, str(port)))
    assert found is not None
    with found:
        assert found.getpeername() == theirs.getsockname()
        assert not ours.getblocking()
        assert not os.get_blocking(ours.fileno())
    assert find_connection((host, "1")) is None


def test_what_the_peer_has_not_taken_is_unsent(pair: tuple[socket.socket, ...]) -> None:
    ours, theirs = pair
    assert not has_unsent(ours)
    until(BlockingIOError, lambda: ours.send(bytes(1 << 20)))
    assert has_unsent(ours)
    theirs.close()


def test_copy_out_takes_what_there_is_room_for(
    pair: tuple[socket.socket, ...], tmp_path: Path
) -> None:
    ours, theirs = pair
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20) * 64)
    descriptor = os.open(path, os.O_RDONLY)
    size, offset = 64 << 20, 0

    def send() -> None:
        nonlocal offset
        offset += copy_out(ours.fileno(), descriptor, str(path), offset, size - offset, True) or 0

    until(BlockingIOError, send)
    got = b""
    while len(got) < offset:
        got += theirs.recv(1 << 20)
    assert path.read_bytes().startswith(got)
    os.truncate(path, offset)
    with pytest.raises(StoreError, match=f"shorter.*file at byte {offset}"):
        copy_out(ours.fileno(), descriptor, str(path), offset, 10, True)
    theirs.close()
    # The first write after that is answered by a reset.
    until(ConnectionError, lambda: copy_out(ours.fileno(), descriptor, str(path), 0, 10, True))
    os.close(descriptor)
    with pytest.raises(StoreError, match="can't be sent"):
        copy_out(ours.fileno(), descriptor, str(path), 0, 10, True)


def test_what_waits_for_the_disk_is_left_to_a_thread(
    pair: tuple[socket.socket, ...], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        if is_in_memory(file.fileno(), 0, 1 << 20):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if is_in_memory(file.fileno(), 0, 1 << 20):
            pytest.skip("this file system forgets nothing")
        assert copy_out(pair[0].fileno(), file.fileno(), str(path), 0, 1 << 20, False) is None
        assert copy_out(pair[0].fileno(), file.fileno(), str(path), 0, 10, True) == 10
