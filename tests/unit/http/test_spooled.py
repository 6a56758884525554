"""Clones from the spool, through the application and through real servers."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.compat.rawhttp import whole_body
from tests.compat.serving import Serving, trunkline_command
from tests.compat.warm import WARM
from tests.unit.http.conftest import commit, head, new
from tests.unit.http.driving import Client, Reply, ask, make_app
from tests.unit.http.gated import BREAKING, GATE, MAKER
from tests.unit.http.test_app import getbundle
from tests.unit.http.test_server import children, connect, read_all, request

from trunkline.config.settings import Server
from trunkline.config.spool import Spool
from trunkline.http.app import App
from trunkline.http.blocks import READ_SIZE
from trunkline.http.follow import SLOW_SIZE, piece_size
from trunkline.http.remake import remake
from trunkline.http.spooled import Spooled
from trunkline.reply import Order, Stream
from trunkline.spool.builder import NotSame

SECONDS = 60
ZSTD = (b"x-hgproto-1", b"0.1 0.2 comp=zstd,zlib,none")
SLOW = "server.zstdlevel=19"  # a second or more for `middle`, given out a little at a time


MIDDLE = 3 * 1024 * 1024  # bytes


@pytest.fixture(scope="module")
def middle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = new(tmp_path_factory.mktemp("middle") / "r")
    commit(repository, "blob", random.Random(1).randbytes(MIDDLE), "middle")
    return repository


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def spooling(folder: Path, *paths: Path, config: tuple[str, ...] = (), **spool: Any) -> App:
    settings = {"path": str(folder), "smallest_bytes": 1, **spool}
    return make_app(*paths, spool=Spool(**settings), config=list(config))


def clone(repository: Path, **how: Any) -> Client:
    return Client("GET", "/" + getbundle(repository), [ZSTD], **how)


def streamed(repository: Path, *config: str) -> bytes:
    """What is sent without a spool."""
    app = make_app(repository, spool=Spool(bytes=0), config=list(config))
    (reply,) = ask(app, clone(repository))
    assert reply.is_whole
    return reply.body


def wholes(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.whole")) if folder.exists() else []


def wait_for(wanted: Any) -> None:
    deadline = time.monotonic() + SECONDS
    while not wanted():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def builders(parent: int | None = None) -> list[int]:
    """Processes below our nurseries (those of `parent`'s workers).

    In one look at /proc: the tests that kill them have a part of a second for it.
    """
    parents = dict(live_parents())
    workers = [pid for pid, above in parents.items() if above == parent]
    nurseries = [
        pid
        for pid, above in parents.items()
        if above in ([os.getpid()] if parent is None else workers) and is_nursery(pid)
    ]
    return [pid for pid, above in parents.items() if above in nurseries]


def live_parents() -> Iterator[tuple[int, int]]:
    """Each process and the one above it."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                yield int(entry), int(fields[1])


def is_nursery(pid: int) -> bool:
    with suppress(OSError):
        return b"trunkline.spool.nursery" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


# -- what is spooled


def test_first_follows_and_later_ones_know_the_length(made: Path, folder: Path) -> None:
    big = made / "big"
    app = spooling(folder, big)
    expected = streamed(big)
    for number in range(3):
        (reply,) = ask(app, clone(big))
        assert reply.status == 200
        assert reply.is_whole
        assert reply.body == expected
        assert reply.header(b"content-type") == b"application/mercurial-0.2"
        if number:
            assert reply.header(b"content-length") == b"%d" % len(expected)
            assert reply.header(b"etag")
        wait_for(lambda: wholes(folder))
    (whole,) = wholes(folder)
    assert whole.read_bytes() == expected
    assert whole.stat().st_mode & 0o777 == 0o400
    assert whole.with_suffix(".uses").stat().st_size == 3


def test_many_at_once_are_one_build(middle: Path, folder: Path) -> None:
    expected = streamed(middle)
    replies = ask(spooling(folder, middle), *(clone(middle) for _ in range(12)))
    assert all(reply.is_whole and reply.body == expected for reply in replies)
    (whole,) = wholes(folder)
    assert whole.with_suffix(".uses").stat().st_size == 12


@pytest.mark.parametrize("command", ["changegroup&roots=" + "0" * 40, "stream_out"])
def test_other_streams(made: Path, folder: Path, command: str) -> None:
    big = made / "big"
    client = Client("GET", f"/?cmd={command}", [])
    (expected,) = ask(make_app(big, spool=Spool(bytes=0)), client)
    app = spooling(folder, big)
    for _ in range(2):
        (reply,) = ask(app, replace(client, gone=None))
        assert (reply.status, reply.headers[0]) == (200, expected.headers[0])
        assert reply.body == expected.body
    # One file of a stream clone costs no more from the store.
    assert len(wholes(folder)) == (0 if command == "stream_out" else 1)


def test_small_replies_never_touch_it(made: Path, folder: Path) -> None:
    app = spooling(folder, made / "small", smallest_bytes=Spool().smallest_bytes)
    for target in ("?cmd=heads", "?cmd=capabilities", getbundle(made / "small")):
        (reply,) = ask(app, Client("GET", "/" + target, [ZSTD]))
        assert reply.is_whole
    assert not folder.exists()
    assert builders() == []


def test_nothing_is_built_for_head_requests_or_without_a_spool(made: Path, folder: Path) -> None:
    (reply,) = ask(spooling(folder, made / "big"), Client("HEAD", "/" + getbundle(made / "big")))
    assert (reply.status, reply.body) == (200, b"")
    ask(spooling(folder, made / "big", bytes=0), clone(made / "big"))
    assert not folder.exists()


def in_turn(app: App, *clients: Client) -> list[Reply]:
    """One after the other, asked of one worker."""

    async def visit() -> list[Reply]:
        app.open()
        replies = []
        for client in clients:
            replies.append(await client.ask(app))
            await asyncio.sleep(0.3)
        app.close_threads()
        return replies

    return asyncio.run(visit())


def test_reply_that_turned_out_large_is_spooled_the_next_time(tmp_path: Path, folder: Path) -> None:
    """One large changeset of several is all that is pulled."""
    repository = new(tmp_path / "r")
    for number in range(3):
        commit(repository, "a", b"%d\n" % number, "small")
    common = head(repository)
    commit(repository, "blob", random.Random(3).randbytes(300_000), "large")
    app = spooling(folder, repository, smallest_bytes=200_000)
    asked = f"/?cmd=getbundle&heads={head(repository)}&common={common}"
    replies = in_turn(app, *(Client("GET", asked, [ZSTD]) for _ in range(3)))
    assert len({reply.body for reply in replies}) == 1
    assert [reply.header(b"etag") is None for reply in replies][::2] == [True, False]
    (whole,) = wholes(folder)
    assert whole.with_suffix(".uses").stat().st_size == 2


def test_large_files_of_a_short_history_are_spooled_the_first_time(
    tmp_path: Path, folder: Path
) -> None:
    """Nothing in the history's own logs tells of them."""
    repository = new(tmp_path / "r")
    commit(repository, "blob", random.Random(3).randbytes(300_000), "one")
    replies = ask(spooling(folder, repository, smallest_bytes=200_000), *[clone(repository)] * 3)
    assert len({reply.body for reply in replies}) == 1
    (whole,) = wholes(folder)
    assert whole.with_suffix(".uses").stat().st_size == 3


def test_stream_clone_is_made_into_a_file_when_asked_for_twice(
    tmp_path: Path, folder: Path
) -> None:
    repository = new(tmp_path / "r")
    for number in range(1200):
        (repository / f"file-{number:04}-{'x' * 30}").write_text(str(number))
    commit(repository, "a", b"1", "many files")
    client = Client("GET", "/?cmd=stream_out", [])
    replies = in_turn(spooling(folder, repository), client, client, client)
    assert len({reply.body for reply in replies}) == 1
    assert [reply.header(b"etag") is None for reply in replies][::2] == [True, False]
    (whole,) = wholes(folder)
    assert whole.with_suffix(".uses").stat().st_size == 2


# -- what goes wrong


def test_order_for_another_state_makes_nothing(tmp_path: Path, folder: Path) -> None:
    repository = new(tmp_path / "r")
    commit(repository, "a", b"1", "one")
    orders: list[Order] = []

    class Noted(Spooled):
        def takes(self, stream: Stream) -> bool:
            assert stream.recipe is not None
            orders.append(stream.recipe.write())
            return False

    app = spooling(folder, repository)
    app_open = app.open

    def open_noted() -> None:
        app_open()
        app.crew.spooled = Noted(Spool(path=str(folder)))

    app.open = open_noted  # type: ignore[method-assign]
    (reply,) = ask(app, clone(repository))
    (order,) = orders
    assert b"".join(remake(order)) == reply.body
    commit(repository, "a", b"2", "two")
    with pytest.raises(NotSame):
        remake(order)


def test_censored_contents_are_not_kept(tmp_path: Path, folder: Path) -> None:
    """No changeset, phase or bookmark moves."""
    config = ["--config", "extensions.censor="]
    repository = new(tmp_path / "r", "[censor]\npolicy = ignore\n")
    node = commit(repository, "a", b"the secret word" * 10, "one")
    commit(repository, "a", b"gone\n", "two")
    app = spooling(folder, repository, config=("server.compressionengines=none",))
    word = b"the secret word"
    for _ in range(2):
        (reply,) = ask(app, clone(repository))
        assert word in reply.body
    WARM.run(*config, "censor", "-q", "--no-check-heads", "-r", node, "a", cwd=repository)
    (reply,) = ask(app, clone(repository))
    assert word not in reply.body


def test_hidden_and_secret_changesets_do_not_come_from_the_spool(
    tmp_path: Path, folder: Path
) -> None:
    repository = new(tmp_path / "r")
    commit(repository, "a", b"first", "one")
    app = spooling(folder, repository, config=("server.compressionengines=none",))
    commit(repository, "a", b"the secret word", "two")
    (before,) = ask(app, clone(repository))
    assert b"the secret word" in before.body
    common = head(repository)
    WARM.run("phase", "-q", "--force", "--secret", "-r", "tip", cwd=repository)
    (after,) = ask(app, Client("GET", f"/?cmd=getbundle&common={'0' * 40}", [ZSTD]))
    assert after.is_whole
    assert b"first" in after.body
    assert b"the secret word" not in after.body
    (refused,) = ask(app, Client("GET", f"/?cmd=getbundle&heads={common}", [ZSTD]))
    assert b"unknown revision" in refused.body


def test_reading_that_is_not_allowed_is_refused_before(tmp_path: Path, folder: Path) -> None:
    repository = new(tmp_path / "r")
    commit(repository, "a", b"first", "one")
    app = spooling(folder, repository)
    ask(app, clone(repository))
    (repository / ".hg" / "hgrc").write_text("[web]\ndeny_read = *\n")
    (reply,) = ask(app, clone(repository))
    assert reply.status == 401


def test_folder_that_cannot_be_used_means_streams_and_one_line(
    made: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    app = spooling(tmp_path / "file" / "spool", made / "big")
    replies = ask(app, *(clone(made / "big") for _ in range(5)))
    expected = streamed(made / "big")
    assert all(reply.is_whole and reply.body == expected for reply in replies)
    said = caplog.text + capfd.readouterr().err
    assert said.count("made anew for each reader") == 1


def test_no_room_means_streams_and_one_line(
    made: Path, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    app = spooling(folder, made / "big", free_bytes=10**18)
    replies = in_turn(app, *(clone(made / "big") for _ in range(5)))
    expected = streamed(made / "big")
    assert all(reply.is_whole and reply.body == expected for reply in replies)
    assert capfd.readouterr().err.count("made anew for each reader") == 1
    assert wholes(folder) == []


def test_lost_file_of_the_store_is_told_as_without_a_spool(tmp_path: Path, folder: Path) -> None:
    repository = new(tmp_path / "r")
    commit(repository, "a", b"1", "one")
    (repository / ".hg" / "store" / "data" / "a.i").unlink()
    replies = [
        ask(app, clone(repository))[0]
        for app in (spooling(folder, repository), spooling(folder, repository, bytes=0))
    ]
    assert [reply.status for reply in replies] == [replies[1].status] * 2
    assert [reply.is_whole for reply in replies] == [replies[1].is_whole] * 2
    assert wholes(folder) == []


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """To be touched: until then no builder gives a byte."""
    path = tmp_path / "gate"
    monkeypatch.setenv(GATE, str(path))
    monkeypatch.setattr("trunkline.http.spooled.MAKER", MAKER)
    return path


def test_killed_builder_cuts_those_who_have_bytes(middle: Path, folder: Path) -> None:
    app = spooling(folder, middle, config=(SLOW,))

    async def kill(reply: Reply) -> None:
        if reply.sends == 1:
            for pid in builders():
                os.kill(pid, signal.SIGKILL)

    (cut,) = ask(app, clone(middle, on_send=kill))
    assert type(cut.error).__name__ == "BrokenReply"
    assert 0 < len(cut.body) < MIDDLE
    assert not cut.is_whole
    assert wholes(folder) == []
    (again,) = ask(app, clone(middle))
    assert again.is_whole
    assert again.body == streamed(middle, SLOW)


def test_build_that_broke_off_cuts_its_readers_once(
    middle: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trunkline.http.spooled.MAKER", BREAKING)
    cut, *later = in_turn(spooling(folder, middle), *(clone(middle) for _ in range(3)))
    assert not cut.is_whole
    assert cut.body
    expected = streamed(middle)
    assert all(reply.is_whole and reply.body == expected for reply in later)


@pytest.mark.parametrize("readers", [1, 5])
def test_builder_killed_before_the_first_byte_is_replaced(
    readers: int, middle: Path, folder: Path, gate: Path
) -> None:
    app = spooling(folder, middle)

    def kill() -> None:
        wait_for(builders)
        for pid in builders():
            os.kill(pid, signal.SIGKILL)
        gate.touch()

    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill)
        replies = ask(app, *(clone(middle) for _ in range(readers)))
        killed.result()
    expected = streamed(middle)
    assert all(reply.is_whole and reply.body == expected for reply in replies)
    assert len(wholes(folder)) == 1


def test_past_the_queue_clients_are_told_to_come_again(
    middle: Path, folder: Path, gate: Path
) -> None:
    app = spooling(folder, middle, builders=1, queue=1)
    target = "/" + getbundle(middle)
    clients = [Client("GET", f"{target}&bundlecaps=n{number}", [ZSTD]) for number in range(6)]

    async def visit() -> list[Reply]:
        app.open()
        asks = [asyncio.ensure_future(clients[0].ask(app))]
        await asyncio.to_thread(wait_for, builders)
        asks += [asyncio.ensure_future(client.ask(app)) for client in clients[1:]]
        await asyncio.sleep(2)
        gate.touch()
        replies = list(await asyncio.gather(*asks))
        app.close_threads()
        return replies

    replies = asyncio.run(visit())
    assert sorted(reply.status for reply in replies) == [200, 200, 503, 503, 503, 503]
    for reply in replies:
        assert reply.is_whole
        assert (reply.header(b"retry-after") is not None) == (reply.status == 503)


def test_client_that_leaves_while_it_waits_stops_the_build(
    middle: Path, folder: Path, gate: Path
) -> None:
    app = spooling(folder, middle)

    async def visit() -> Reply:
        app.open()
        client = clone(middle, gone=asyncio.Event())
        asked = asyncio.ensure_future(client.ask(app))
        await asyncio.to_thread(wait_for, builders)
        assert client.gone is not None
        client.gone.set()
        reply = await asked
        await asyncio.to_thread(wait_for, lambda: not builders())
        gate.touch()
        app.close_threads()
        return reply

    reply = asyncio.run(visit())
    assert type(reply.error).__name__ == "BrokenReply"
    assert reply.status == 0
    assert wholes(folder) == []


def test_slow_readers_hold_no_thread(middle: Path, folder: Path) -> None:
    """More than there are threads for all replies together."""
    app = spooling(folder, middle)
    few = Server(threads=2, bridge_threads=1, push_threads=1, page_threads=1)
    app._settings = msgspec.structs.replace(app._settings, server=few)
    ask(app, clone(middle))

    async def visit() -> tuple[list[Reply], Reply, int]:
        others = threading.active_count()
        app.open()
        go_on = asyncio.Event()

        async def stuck(_: Reply) -> None:
            await go_on.wait()

        slow = [asyncio.ensure_future(clone(middle, on_send=stuck).ask(app)) for _ in range(24)]
        await asyncio.sleep(0.5)
        threads = threading.active_count() - others
        quick = await Client("GET", "/?cmd=heads").ask(app)
        go_on.set()
        replies = list(await asyncio.gather(*slow))
        app.close_threads()
        return replies, quick, threads

    replies, quick, threads = asyncio.run(visit())
    assert quick.text == head(middle) + "\n"
    assert threads < 20
    assert len({hashlib.sha256(reply.body).digest() for reply in replies}) == 1
    assert all(reply.is_whole for reply in replies)


def test_slow_reader_gets_small_pieces(middle: Path, folder: Path) -> None:
    app = spooling(folder, middle)
    (whole,) = ask(app, clone(middle))
    ends: list[int] = []
    slow_from = 33 * SLOW_SIZE  # where pieces are larger already

    async def slow(reply: Reply) -> None:
        ends.append(len(reply.body))
        if slow_from < ends[-1] < slow_from + 5 * SLOW_SIZE:
            await asyncio.sleep(0.7)

    (reply,) = ask(app, clone(middle, on_send=slow))
    assert reply.body == whole.body
    sizes = [end - begin for begin, end in pairwise([0, *ends])]
    assert sizes[:32] == [SLOW_SIZE] * 32
    assert sizes[32:36] == [2 * SLOW_SIZE, 2 * SLOW_SIZE, SLOW_SIZE, SLOW_SIZE]
    assert 2 * SLOW_SIZE in sizes[36:]  # it has become quick


@pytest.mark.parametrize(
    ("sent", "size"),
    [
        (0, SLOW_SIZE),
        (32 * SLOW_SIZE - 1, SLOW_SIZE),
        (32 * SLOW_SIZE, 2 * SLOW_SIZE),
        (16 * READ_SIZE, READ_SIZE),
        (10**12, READ_SIZE),
    ],
)
def test_pieces_grow_with_what_was_sent(sent: int, size: int) -> None:
    assert piece_size(sent) == size


def test_client_that_goes_away_in_the_middle_is_noticed(middle: Path, folder: Path) -> None:
    app = spooling(folder, middle)
    ask(app, clone(middle))
    client = clone(middle, gone=asyncio.Event())

    async def leave(_: Reply) -> None:
        assert client.gone is not None
        client.gone.set()
        await asyncio.sleep(0.1)

    client.on_send = leave
    (reply,) = ask(app, client)
    assert type(reply.error).__name__ == "BrokenReply"
    assert 0 < len(reply.body) <= 2 * READ_SIZE


# -- real servers


@pytest.fixture
def start(tmp_path: Path, folder: Path) -> Iterator[Any]:
    """Servers that share the test's spool."""
    with ExitStack() as stack:
        count = iter(range(100))

        def one(path: Path, *options: str, ends_well: bool = True, **spool: Any) -> Serving:
            place = tmp_path / f"server-{next(count)}"
            place.mkdir()
            values = {"path": f'"{folder}"', "smallest_bytes": 1, **spool}
            lines = [f"{name} = {value}" for name, value in values.items()]
            (place / "s.toml").write_text("\n".join(["[spool]", *lines]) + "\n")
            words = trunkline_command(path, "--settings", str(place / "s.toml"), *options)
            server = Serving(words, place)
            stack.callback(server.stop if ends_well else quietly(server))
            return server

        yield one


def quietly(server: Serving) -> Any:
    def stop() -> None:
        try:
            server.stop()
        except AssertionError:
            pass

    return stop


def begin(server: Serving, target: str) -> tuple[socket.socket, bytes]:
    """A clone whose first bytes are there. `target` as from `getbundle`."""
    wire = connect(server)
    headers = ["X-HgProto-1: 0.1 0.2 comp=zstd,zlib,none"]
    wire.sendall(request("/" + target, *headers))
    return wire, wire.recv(1 << 16)


def test_killed_worker_cuts_its_own_readers_only(middle: Path, start: Any, folder: Path) -> None:
    """Two servers on one folder: the one that asked for the build dies."""
    first, second = (start(middle, "--config", SLOW) for _ in range(2))
    cut, cut_begin = begin(first, getbundle(middle))
    other, other_begin = begin(second, getbundle(middle))
    for pid in children(first.pid):
        os.kill(pid, signal.SIGKILL)
    with cut, other:
        try:
            cut_body = cut_begin + read_all(cut)
        except ConnectionError:
            cut_body = cut_begin
        whole = other_begin + read_all(other)
    assert whole_body(cut_body) is None
    assert whole_body(whole) == streamed(middle, SLOW)
    wait_for(lambda: len(wholes(folder)) == 1)


def test_folder_deleted_under_way(middle: Path, start: Any, folder: Path, tmp_path: Path) -> None:
    server = start(middle, "--config", SLOW)
    wire, first = begin(server, getbundle(middle))
    shutil.rmtree(folder)
    with wire:
        assert whole_body(first + read_all(wire)) == streamed(middle, SLOW)
    WARM.run("clone", "-q", "-U", server.url, tmp_path / "again")
    assert len(wholes(folder)) == 1


def test_restart_serves_what_was_whole_and_nothing_else(
    middle: Path, start: Any, folder: Path, tmp_path: Path
) -> None:
    server = start(middle, "--config", SLOW, ends_well=False)
    wire, _ = begin(server, getbundle(middle))
    for pid in [server.pid, *builders(server.pid)]:
        os.kill(pid, signal.SIGKILL)
    wire.close()
    assert wholes(folder) == []
    assert len(list(folder.glob("*.part"))) == 1
    again = start(middle, "--config", SLOW)
    wire, first = begin(again, getbundle(middle))
    with wire:
        assert whole_body(first + read_all(wire)) == streamed(middle, SLOW)
    wait_for(lambda: len(wholes(folder)) == 1)
    assert list(folder.glob("*.part")) == []


def test_storm_of_real_clones_while_the_repository_is_written_to(
    start: Any, tmp_path: Path, folder: Path
) -> None:
    repository = new(tmp_path / "r", "[phases]\npublish = no\n")
    for number in range(10):
        commit(repository, f"f{number}", random.Random(number).randbytes(20_000), "more")
    server = start(repository, "--workers", "2")
    stop = threading.Event()

    def write() -> int:
        count = 0
        while not stop.is_set():
            commit(repository, "f0", b"%d\n" % count, f"while cloning {count}")
            count += 1
        return count

    def one(number: int) -> Path:
        target = tmp_path / f"clone-{number}"
        WARM.run("clone", "-q", "-U", "--pull", server.url, target)
        WARM.run("verify", "-q", "-R", target)
        WARM.run("pull", "-q", "-R", target)
        return target

    with ThreadPoolExecutor(5) as pool:
        writing = pool.submit(write)
        clones = list(pool.map(one, range(6)))
        stop.set()
        assert writing.result() > 0
    for target in clones:
        WARM.run("verify", "-q", "-R", target)
        WARM.run("pull", "-q", "-R", target)
        assert head(target) == head(repository)
    server.check_log()
    assert wholes(folder)


def test_followers_on_two_workers_and_two_servers_share_one_build(
    middle: Path, start: Any, folder: Path
) -> None:
    servers = [start(middle, "--workers", "2", "--config", SLOW) for _ in range(2)]

    def one(number: int) -> bytes:
        wire, first = begin(servers[number % 2], target)
        with wire:
            return hashlib.sha256(whole_body(first + read_all(wire)) or b"").digest()

    target = getbundle(middle)
    with ThreadPoolExecutor(24) as pool:
        digests = set(pool.map(one, range(24)))
    assert digests == {hashlib.sha256(streamed(middle, SLOW)).digest()}
    wait_for(lambda: len(wholes(folder)) == 1)
    (whole,) = wholes(folder)
    assert whole.with_suffix(".uses").stat().st_size == 24
    assert not list(folder.glob("*.part"))


def test_nothing_of_the_spool_outlives_the_server(made: Path, start: Any, folder: Path) -> None:
    server = start(made / "big")
    wire, _ = begin(server, getbundle(made / "big"))
    with wire:
        read_all(wire)
    (worker,) = children(server.pid)
    (nursery,) = [pid for pid, above in live_parents() if above == worker and is_nursery(pid)]
    os.kill(server.pid, signal.SIGTERM)
    wait_for(lambda: nursery not in dict(live_parents()))
