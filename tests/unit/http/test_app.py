"""The application with real repositories, driven without sockets."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.compat.warm import WARM
from tests.unit.http.conftest import BIG_FILE, commit, head, new, run
from tests.unit.http.driving import Client, Reply, ask, busy, get, make_app, post

from trunkline import __version__
from trunkline.config.limits import Limits
from trunkline.config.settings import Log, Server, Settings
from trunkline.config.spool import Spool
from trunkline.hg.wire.request import Request
from trunkline.http.app import ATTEND_SECONDS, App
from trunkline.http.door import States, announces_push
from trunkline.http.errand import Errand, Way
from trunkline.http.fresh import Fresh
from trunkline.http.send import BrokenReply
from trunkline.http.visit import Visit

NULL = "0" * 40


def getbundle(repository: Path) -> str:
    return f"?cmd=getbundle&heads={head(repository)}&common={NULL}"


def one_line(reply: Reply) -> str:
    """Of plain text, for a person at a terminal."""
    assert reply.is_whole
    assert reply.header(b"content-type") == b"text/plain; charset=utf-8"
    assert reply.text.endswith("\n")
    assert len(reply.text.splitlines()) == 1
    return reply.text.rstrip("\n")


# -- which repository


def test_wire_command_reaches_its_repository(made: Path) -> None:
    app = make_app(made)
    reply = get(app, "/group/deep?cmd=heads")
    assert reply.status == 200
    assert reply.text == head(made / "group" / "deep") + "\n"
    assert reply.headers == [
        (b"content-type", b"application/mercurial-0.1"),
        (b"server", f"trunkline/{__version__}".encode()),
        (b"content-length", b"41"),
    ]
    assert get(app, "/group/deep/?cmd=heads").body == reply.body
    assert get(make_app(made / "group" / "deep"), "/?cmd=heads").body == reply.body


def test_repository_made_a_moment_ago_is_there(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    assert get(app, "/later?cmd=heads").status == 404
    node = commit(new(tmp_path / "later"), "a", b"1", "one")
    assert get(app, "/later?cmd=heads").text == node + "\n"


@pytest.mark.parametrize(
    "path",
    [
        "/none",
        "/small/sub",
        "/group",
        "/small/.hg",
        "/../made/small",
        "/group%2fdeep",
        "/group/../small",
        "/group%5c..%5csmall",
        "/small%00",
        "//small",
    ],
)
def test_no_other_path_is_answered(made: Path, path: str) -> None:
    reply = get(make_app(made), path + "?cmd=capabilities")
    assert reply.status == 404
    assert one_line(reply) == "not found"


def test_hidden_repository_is_served(made: Path) -> None:
    assert get(make_app(made), "/secretive?cmd=heads").status == 200


@pytest.mark.parametrize("limit", [Server(handles=1), Server(handles_bytes=1)])
def test_many_repositories_keep_few_handles(made: Path, limit: Server) -> None:
    app = make_app(made, server=limit)
    for name in ("small", "group/deep", "small"):
        assert get(app, f"/{name}?cmd=heads").status == 200
    handles = app._door._handles
    assert len(handles._open) == 1
    assert handles._weight == next(iter(handles._open.values())).weight > 0


def test_changed_hgrc_counts_at_once(tmp_path: Path) -> None:
    repository = new(tmp_path / "r")
    app = make_app(repository)
    assert get(app, "/?cmd=heads").status == 200
    (repository / ".hg" / "hgrc").write_text("[web]\nallow-pull = no\nserver-header = mine/1\n")
    reply = get(app, "/?cmd=heads")
    assert reply.status == 401
    assert reply.body == b"0\npull not authorized\n"
    assert reply.header(b"server") == b"mine/1"


def quick_commands(app: App) -> set[bytes]:
    return {command or b"" for _, command in app._door._quick._known}


def test_short_commands_that_are_quick_need_no_thread(made: Path) -> None:
    app = make_app(made)
    for target in ("?cmd=heads", getbundle(made / "small"), "?cmd=unbundle", "?cmd=stream_out"):
        for _ in range(8):
            get(app, "/small" + target)
    assert quick_commands(app) == {b"heads"}
    assert get(app, "/small?cmd=heads").status == 200  # now without
    long = urlencode({"cmds": "known nodes=" + " ".join([NULL] * 300)})
    assert get(app, f"/small?cmd=batch&{long}").status == 200


def test_quick_answer_knows_a_commit_of_a_moment_ago(tmp_path: Path) -> None:
    repository = new(tmp_path / "r")
    app = make_app(repository)
    commit(repository, "a", b"0", "zero")
    for _ in range(8):
        get(app, "/?cmd=heads")
    assert quick_commands(app) == {b"heads"}
    for number in (b"1", b"2"):
        node = commit(repository, "a", number, "more")
        assert get(app, "/?cmd=heads").text == node + "\n"
    (repository / ".hg" / "hgrc").write_text("[web]\nallow-pull = no\n")
    assert get(app, "/?cmd=heads").status == 401


def test_event_loop_waits_for_nothing(tmp_path: Path) -> None:
    """What needs more than stats goes to a thread: an hgrc that is another one, a commit, a
    command that wasn't answered since.
    """
    repository = new(tmp_path / "r")
    commit(repository, "a", b"0", "zero")
    app = make_app(repository)
    asked: list[bool] = []

    async def run() -> None:
        app.open()
        fresh: States = Fresh()
        for change in (
            lambda: None,
            lambda: commit(repository, "a", b"1", "one"),
            lambda: (repository / ".hg" / "hgrc").write_text("[web]\nname = x\n"),
        ):
            for _ in range(8):
                await Client(target="/?cmd=heads").ask(app)
            change()
            way = Way((), b"heads")
            for query in (b"cmd=heads", b"cmd=batch&cmds=lookup+key%3Dtip"):
                visit = Visit("GET", b"/", query, {}, "127.0.0.1", "http")
                errand = Errand(visit, way, app._access.get())
                asked.append(app._door.quick_answer(errand, fresh) is None)
            await asyncio.sleep(0.01)  # the look at the disk is forgotten
        app.close_threads()

    asyncio.run(run())
    assert asked == [False, True] + [True, True] * 2


@pytest.mark.parametrize(
    ("taught", "asked"),
    [
        ("listkeys&namespace=zzz", "listkeys&namespace=bookmarks"),
        ("lookup&key=tip", "lookup&key=0"),
        ("branches&nodes=", f"branches&nodes={NULL}"),
        ("batch&cmds=heads+", "batch"),
    ],
)
def test_event_loop_works_nothing_out(made: Path, taught: str, asked: str) -> None:
    """What a command costs isn't known from what it cost with other arguments."""
    app = make_app(made / "small")
    headers = {b"x-hgarg-1": b"cmds=" + b"branches+%3B" * 100} if asked == "batch" else {}
    found: list[bool] = []

    async def run() -> None:
        app.open()
        for _ in range(8):
            await Client(target=f"/?cmd={taught}").ask(app)
        for query, said in ((taught, {}), (asked, headers)):
            visit = Visit("GET", b"/", f"cmd={query}".encode(), said, "127.0.0.1", "http")
            way = app._door.way(visit)
            assert app._door.is_quick(visit, way, b"")
            errand = Errand(visit, way, app._access.get())
            found.append(app._door.quick_answer(errand, Fresh()) is not None)
        app.close_threads()

    asyncio.run(run())
    assert found == [True, False]


def test_what_waits_for_another_process_is_never_quick(tmp_path: Path) -> None:
    app = make_app(new(tmp_path / "r", "[hooks]\npreoutgoing = true\n"))
    for _ in range(8):
        assert get(app, "/?cmd=heads").status == 200
    assert quick_commands(app) == set()


# -- permission


@pytest.mark.parametrize("command", ["heads", "capabilities", "batch&cmds=heads+", "stream_out"])
def test_reading_is_refused_with_the_words_of_stock(tmp_path: Path, command: str) -> None:
    app = make_app(new(tmp_path / "r", "[web]\ndeny_read = *\n"))
    reply = get(app, f"/?cmd={command}")
    assert reply.status == 401
    assert reply.body == b"0\nread not authorized\n"
    assert reply.header(b"www-authenticate") is None  # nobody can log in yet
    assert get(app, "/").status == 401


NEEDS_SSL = b"ssl required\n"


def unbundle(app: App, **how: bytes) -> Reply:
    headers = [(name.replace("_", "-").encode(), value) for name, value in how.items()]
    return post(app, f"/?cmd=unbundle&heads={b'force'.hex()}", b"HG10UN" + b"\0" * 4, *headers)


def test_nobody_pushes_by_default(made: Path, caplog: pytest.LogCaptureFixture) -> None:
    reply = unbundle(make_app(made / "small"))
    assert (reply.status, reply.body) == (200, NEEDS_SSL)
    assert reply.header(b"content-type") == b"application/hg-error"
    assert "POST /: unbundle refused: ssl required" in caplog.messages[-1]
    assert "[web.push_ssl]" in caplog.messages[-1]
    open_app = make_app(made / "small", config=["web.push_ssl=no"])
    reply = unbundle(open_app)
    assert (reply.status, reply.body) == (200, b"push not authorized\n")
    assert "[access, web.allow-push, web.deny_push]" in caplog.messages[-1]
    assert reply.header(b"www-authenticate") is None  # nobody can log in yet
    reply = get(open_app, "/?cmd=unbundle&heads=")
    assert reply.status == 405
    assert get(open_app, "/?cmd=pushkey").status == 405


def test_https_is_believed_of_a_trusted_proxy_only(made: Path) -> None:
    proxied = {"x_forwarded_proto": b"https"}
    assert unbundle(make_app(made / "small"), **proxied).body == NEEDS_SSL
    app = make_app(made / "small", server=Server(trusted_proxies=["127.0.0.1"]))
    assert unbundle(app, **proxied).body == b"push not authorized\n"


def test_anonymous_pushes_where_the_repository_says_so(tmp_path: Path, made: Path) -> None:
    bundle = tmp_path / "bundle"
    source = made / "group" / "deep"
    WARM.run("bundle", "-q", "--all", "--type", "none-v1", bundle, cwd=source)
    ways: dict[str, dict[str, Any]] = {
        "hgrc": {"config": ["web.push_ssl=no", "web.allow-push=*"]},
        "flag": {"allow_write": "anonymous"},
    }
    for name, settings in ways.items():
        target = new(tmp_path / name)
        app = make_app(target, **settings)
        reply = post(app, f"/?cmd=unbundle&heads={b'force'.hex()}", bundle.read_bytes())
        assert reply.status == 200
        assert reply.body.startswith(b"1\n"), reply.body
        assert head(target) == head(source)


# -- bodies


def test_arguments_come_in_the_body(made: Path) -> None:
    arguments = urlencode({"key": "tip"}).encode()
    length = (b"x-hgargs-post", b"%d" % len(arguments))
    reply = post(make_app(made / "small"), "/?cmd=lookup", arguments, length)
    assert reply.text == f"1 {head(made / 'small')}\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({b"x-hgargs-post": b"ten"}, 400),
        ({b"x-hgargs-post": b"-1"}, 400),
        ({b"x-hgargs-post": b"5"}, 400),
        ({b"x-hgargs-post": b"999999999999"}, 413),
        ({b"x-hgargs-post": b"9" * 5000}, 413),
        ({b"content-length": b"x"}, 400),
        ({b"content-length": b"99999999999"}, 413),
    ],
)
def test_bad_lengths_are_one_clear_line(
    made: Path, headers: dict[bytes, bytes], status: int
) -> None:
    sent = {b"content-length": b"4", **headers}
    client = Client("POST", "/?cmd=lookup", list(sent.items()), [b"key="])
    reply = ask(make_app(made / "small"), client)[0]
    if status == 400:  # stock clients show this and no status
        assert reply.status == 200
        assert reply.header(b"content-type") == b"application/hg-error"
        assert reply.body.count(b"\n") == 1
    else:
        assert reply.status == status
        one_line(reply)


def test_a_body_shorter_than_announced_is_the_clients_fault(made: Path) -> None:
    headers = [(b"content-length", b"100"), (b"x-hgargs-post", b"50")]
    client = Client("POST", "/?cmd=lookup", headers, [b"key=", b"tip"])
    reply = ask(make_app(made / "small"), client)[0]
    assert reply.header(b"content-type") == b"application/hg-error"
    assert b"50 bytes announced, the body has 7" in reply.body


def test_a_push_without_a_length_is_refused(made: Path) -> None:
    reply = ask(make_app(made / "small"), Client("POST", "/?cmd=unbundle&heads="))[0]
    assert reply.status == 411
    one_line(reply)


def test_a_refused_push_is_read_so_that_its_client_gets_to_see_why(made: Path) -> None:
    parts = [b"x" * 1000] * 50
    length = (b"content-length", b"50000")
    left = list(parts)
    client = Client("POST", "/?cmd=unbundle&heads=", [length], left)
    app = make_app(made / "small")
    reply = ask(app, client)[0]
    assert reply.body == NEEDS_SSL
    waiting = Client("POST", "/?cmd=unbundle&heads=", [length, (b"expect", b"100-continue")], [])
    assert ask(app, waiting)[0].body == NEEDS_SSL  # it isn't told to go on


def test_a_client_that_goes_in_the_middle_of_a_push_is_logged_as_gone(
    made: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    settings = Settings(
        log=Log(access=str(log), format="json"), allow_write="anonymous", config=["ui.debug=no"]
    )
    target = new(tmp_path / "target")
    headers = [(b"content-length", b"100000")]
    parts = [b"HG10UN", b"\0\0", b"\0\0"]
    query = f"/?cmd=unbundle&heads={b'force'.hex()}"
    client = Client("POST", query, headers, parts, goes_after=2)
    reply = ask(make_app(target, settings=settings), client)[0]
    assert reply.status == 400  # which it doesn't read
    assert json.loads(log.read_text())["outcome"] == "gone"
    WARM.run("recover", cwd=target, expect=1)  # no transaction was left behind


# -- limits: each is crossed


def crossed(made: Path, limits: Limits, *clients: Client) -> list[Reply]:
    return ask(make_app(made / "small", limits=limits), *clients)


def test_query_limit(made: Path) -> None:
    limits = Limits(query_bytes=100)
    good = Client(target="/?cmd=heads&" + "x" * 90)
    bad = Client(target="/?cmd=heads&" + "x" * 91)
    ok, refused = crossed(made, limits, good, bad)
    assert (ok.status, refused.status) == (200, 414)
    assert one_line(refused) == "the query is longer than 100 bytes"


def test_path_limit(made: Path) -> None:
    reply = crossed(made, Limits(path_bytes=10), Client(target="/" + "x" * 10 + "?cmd=heads"))[0]
    assert reply.status == 414
    one_line(reply)


def test_post_arguments_limit(made: Path) -> None:
    body = b"key=tip"
    headers = [(b"content-length", b"7"), (b"x-hgargs-post", b"7")]
    client = Client("POST", "/?cmd=lookup", headers, [body])
    assert crossed(made, Limits(post_args_bytes=7), client)[0].status == 200
    client = Client("POST", "/?cmd=lookup", headers, [body])
    assert crossed(made, Limits(post_args_bytes=6), client)[0].status == 413


@pytest.mark.parametrize("header", [(b"content-length", b"11"), (b"transfer-encoding", b"chunked")])
def test_other_body_limit(made: Path, header: tuple[bytes, bytes]) -> None:
    limits = Limits(other_body_bytes=10)
    reply = crossed(made, limits, Client("POST", "/?cmd=heads", [header], [b"x" * 11]))[0]
    assert reply.status == 413
    one_line(reply)


def test_push_limit(made: Path, tmp_path: Path) -> None:
    limits = Limits(push_bytes=20, post_args_bytes=5, refused_push_bytes=0)
    announced = [(b"content-length", b"26")]
    chunked = [(b"transfer-encoding", b"chunked")]
    query = f"/?cmd=unbundle&heads={b'force'.hex()}"
    app = make_app(new(tmp_path / "r"), limits=limits, allow_write="anonymous")
    for headers in (announced, chunked):
        reply = ask(app, Client("POST", query, headers, [b"HG10UN", b"x" * 20]))[0]
        assert reply.status == 413, reply


def test_requests_per_address_limit(made: Path) -> None:
    """The second comes while the first is being sent."""
    app = make_app(made, limits=Limits(requests_per_address=1))
    inner: list[Reply] = []

    async def meanwhile(_: Reply) -> None:
        if not inner:
            inner.append(Reply())
            for address in ("127.0.0.1", "192.0.2.1"):
                inner.append(await Client(target="/small?cmd=heads", address=address).ask(app))

    outer = ask(app, Client(target="/small?cmd=heads", on_send=meanwhile))[0]
    assert (outer.status, inner[1].status, inner[2].status) == (200, 503, 200)
    assert inner[1].header(b"retry-after") is not None
    assert get(app, "/small?cmd=heads").status == 200


def test_pushes_at_once_limit(tmp_path: Path) -> None:
    app = make_app(new(tmp_path / "r"), allow_write="anonymous", server=Server(push_threads=1))
    query = f"/?cmd=unbundle&heads={b'force'.hex()}"

    async def run() -> tuple[Reply, Reply]:
        app.open()
        gone = asyncio.Event()
        slow = Client("POST", query, [(b"content-length", b"999")], [b"HG10UN", b""], gone=gone)
        slow.parts = []  # nothing comes
        task = asyncio.create_task(slow.ask(app))
        while not app._pushes:
            await asyncio.sleep(0.01)
        second = await Client("POST", query, [(b"content-length", b"6")], [b"HG10UN"]).ask(app)
        gone.set()
        first = await task
        app.close_threads()
        return first, second

    first, second = asyncio.run(run())
    assert second.status == 503
    assert one_line(second) == "1 pushes are running: try again"
    assert first.status == 400  # which it doesn't read
    assert app._pushes == 0


@pytest.mark.parametrize(
    ("limits", "addresses", "statuses"),
    [
        (Limits(post_args_bytes=7, all_post_args_bytes=8), ["a"], [503]),
        (Limits(post_args_bytes=7, post_args_bytes_per_address=8), ["192.0.2.1", "a"], [503, 200]),
    ],
)
def test_arguments_of_others_limit(
    made: Path, limits: Limits, addresses: list[str], statuses: list[int]
) -> None:
    """One client has sent some of its arguments; then others come."""
    app = make_app(made / "small", limits=limits)
    headers = [(b"content-length", b"7"), (b"x-hgargs-post", b"7")]

    async def run() -> tuple[Reply, list[Reply]]:
        app.open()
        gone = asyncio.Event()
        slow = Client(
            "POST", "/?cmd=lookup", headers, [b"key="], stalls=True, gone=gone, address="192.0.2.1"
        )
        task = asyncio.create_task(slow.ask(app))
        while not app._argument_bytes.total:
            await asyncio.sleep(0.01)
        others = [
            await Client("POST", "/?cmd=lookup", headers, [b"key=tip"], address=address).ask(app)
            for address in addresses
        ]
        gone.set()
        first = await task
        app.close_threads()
        return first, others

    first, others = asyncio.run(run())
    assert [reply.status for reply in others] == statuses
    assert first.status == 400  # which it doesn't read
    assert app._argument_bytes.total == 0
    assert ask(app, Client("POST", "/?cmd=lookup", headers, [b"key=tip"]))[0].status == 200


def test_arguments_that_are_only_announced_lock_nobody_out(made: Path) -> None:
    app = make_app(made / "small")
    size = b"%d" % Limits().post_args_bytes
    announced = [(b"content-length", size), (b"x-hgargs-post", size)]
    sent = [(b"content-length", b"7"), (b"x-hgargs-post", b"7")]

    async def run() -> Reply:
        app.open()
        gone = asyncio.Event()
        silent = [
            asyncio.create_task(
                Client("POST", "/?cmd=lookup", announced, [], stalls=True, gone=gone).ask(app)
            )
            for _ in range(30)
        ]
        while app._guests.total < len(silent):
            await asyncio.sleep(0.01)
        reply = await Client("POST", "/?cmd=lookup", sent, [b"key=tip"]).ask(app)
        gone.set()
        await asyncio.gather(*silent)
        app.close_threads()
        return reply

    assert asyncio.run(run()).status == 200


def test_arguments_that_stall_are_given_up_before_a_push_is(made: Path) -> None:
    limits = Limits(post_args_idle_seconds=1)
    headers = [(b"content-length", b"7"), (b"x-hgargs-post", b"7")]
    client = Client("POST", "/?cmd=lookup", headers, [b"key="], stalls=True)
    assert crossed(made, limits, client)[0].status == 408


def test_walked_revisions_limit(made: Path) -> None:
    """Of all `between` of one request."""
    pair = f"{head(made / 'small')}-{NULL}"
    for count, limit, is_refused in ((1, 2, False), (2, 4, False), (2, 3, True)):
        calls = ";".join(
            f"between pairs={pair}" + f" {NULL}-{NULL}" * number for number in range(count)
        )
        client = Client(target=f"/?{urlencode({'cmd': 'batch', 'cmds': calls})}")
        reply = crossed(made, Limits(walked_revisions=limit), client)[0]
        assert reply.status == 200
        assert (reply.header(b"content-type") == b"application/hg-error") is is_refused, reply
        assert is_refused == (b"walk more than 3 revisions" in reply.body)


# -- one client and the others


def test_one_address_leaves_threads_for_others(made: Path) -> None:
    app = make_app(made / "small")

    async def run() -> Reply:
        app.open()
        with busy(app.crew.threads, "192.0.2.1"):
            own = asyncio.create_task(Client(target="/?cmd=heads", address="192.0.2.1").ask(app))
            reply = await Client(target="/?cmd=heads", address="192.0.2.2").ask(app)
            assert not own.done()
        assert (await own).status == 200
        app.close_threads()
        return reply

    assert asyncio.run(run()).status == 200


def test_a_client_that_goes_before_its_answer_is_made_ends_the_work(
    made: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    settings = Settings(log=Log(access=str(log), format="json"))
    app = make_app(made / "small", settings=settings)

    async def run() -> Reply:
        app.open()
        gone = asyncio.Event()
        with busy(app.crew.threads, "127.0.0.1"):
            task = asyncio.create_task(Client(target="/?cmd=heads", gone=gone).ask(app))
            await asyncio.sleep(ATTEND_SECONDS * 1.5)
            gone.set()
            await asyncio.sleep(0.05)
        reply = await task
        app.close_threads()
        app._log.flush()
        return reply

    reply = asyncio.run(run())
    assert (reply.status, type(reply.error)) == (0, BrokenReply)
    assert json.loads(log.read_text())["outcome"] == "gone"


def test_send_idle_limit(made: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = Settings(limits=Limits(send_idle_seconds=1), log=Log(access=str(log), format="json"))

    async def stuck(_: Reply) -> None:
        await asyncio.sleep(60)

    client = Client(target="/" + getbundle(made / "big"), on_send=stuck)
    reply = ask(make_app(made / "big", settings=settings), client)[0]
    assert reply.error is not None
    assert not reply.is_whole
    assert json.loads(log.read_text())["outcome"] == "gone"


# -- streams


def test_stream_is_sent_in_large_pieces(made: Path) -> None:
    none = ["server.compressionengines=none"]
    app = make_app(made / "big", config=none, spool=Spool(bytes=0))
    target = "/" + getbundle(made / "big")
    reply = get(app, target, (b"x-hgproto-1", b"0.2 comp=none"))
    assert reply.is_whole
    assert reply.header(b"content-length") is None
    assert len(reply.body) > BIG_FILE
    assert reply.sends < 2 + len(reply.body) / (128 * 1024)


def test_damage_at_once_is_a_500_without_details(
    made: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = copy(made / "small", tmp_path / "broken")
    index = broken / ".hg" / "store" / "00changelog.i"
    index.write_bytes(b"\xff" * index.stat().st_size)
    with caplog.at_level(logging.ERROR):
        reply = get(make_app(broken), "/?cmd=heads")
    assert reply.status == 500
    assert str(broken) not in one_line(reply)
    assert f"[{index} at byte 0]" in caplog.text
    assert "Traceback" not in caplog.text


def test_damage_in_the_middle_breaks_the_reply(
    made: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = copy(made / "big", tmp_path / "broken")
    target = "/" + getbundle(broken)
    data = broken / ".hg" / "store" / "data" / "blob.d"
    with data.open("r+b") as file:
        file.truncate(BIG_FILE // 2)
    log = tmp_path / "log"
    settings = Settings(
        log=Log(access=str(log), format="json"), config=["server.compressionengines=none"]
    )
    app = make_app(broken, settings=settings)
    with caplog.at_level(logging.ERROR):
        reply = get(app, target, (b"x-hgproto-1", b"0.2 comp=none"))
    line = json.loads(log.read_text())
    if reply.status == 500:  # found before the first byte: as good
        assert reply.is_whole
    else:
        assert not reply.is_whole
        assert reply.error is not None
        assert (line["status"], line["outcome"]) == (200, "aborted")
    assert f"[{data} at byte 0]" in caplog.text  # where the chunk that was cut starts
    assert "Traceback" not in caplog.text


def test_client_that_goes_away_ends_the_work(made: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = Settings(
        log=Log(access=str(log), format="json"), config=["server.compressionengines=none"]
    )
    gone = asyncio.Event()

    async def leave(reply: Reply) -> None:
        if len(reply.body) > 1024 * 1024:
            gone.set()
            await asyncio.sleep(0.05)

    target = "/" + getbundle(made / "big")
    proto = [(b"x-hgproto-1", b"0.2 comp=none")]
    client = Client(target=target, headers=proto, on_send=leave, gone=gone)
    reply = ask(make_app(made / "big", settings=settings), client)[0]
    assert not reply.is_whole
    assert len(reply.body) < BIG_FILE // 2
    line = json.loads(log.read_text())
    assert line["outcome"] == "gone"
    assert line["bytes"] == len(reply.body)


def copy(source: Path, target: Path) -> Path:
    WARM.run("clone", "-q", "-U", "--pull", source, target)
    return target


@pytest.mark.parametrize("query", ["?cmd=heads", "bundle"])
def test_head_answers_without_a_body(made: Path, query: str) -> None:
    target = "/" + (getbundle(made / "small") if query == "bundle" else query)
    app = make_app(made / "small")
    reply = ask(app, Client("HEAD", target))[0]
    assert (reply.status, reply.body, reply.is_whole) == (200, b"", True)
    whole = get(app, target)
    assert reply.header(b"content-type") == whole.header(b"content-type")
    assert reply.header(b"content-length") == whole.header(b"content-length")


# -- pages and faults


def test_index_lists_what_is_not_hidden(made: Path) -> None:
    reply = get(make_app(made), "/")
    assert reply.status == 200
    assert reply.header(b"content-type") == b"text/html; charset=utf-8"
    assert "default-src 'none'" in (reply.header(b"content-security-policy") or b"").decode()
    for name in ("small/", "group/deep/", "big/"):
        assert f'href="{name}"' in reply.text
    assert "two heads" in reply.text
    assert "secretive" not in reply.text
    group = get(make_app(made), "/group/")
    assert 'href="../group/deep/"' in group.text
    assert "small" not in group.text


def test_pages_keep_no_client_waiting(made: Path) -> None:
    """While every thread for pages is busy, commands are answered."""
    app = make_app(made)

    async def run() -> Reply:
        app.open()
        with busy(app.crew.page_threads):
            page = asyncio.create_task(Client(target="/").ask(app))
            reply = await Client(target="/small?cmd=heads").ask(app)
            assert not page.done()
        assert (await page).status == 200
        app.close_threads()
        return reply

    assert asyncio.run(run()).status == 200


def test_landing_page_shows_clone_line_and_heads(made: Path) -> None:
    reply = get(make_app(made), "/small/")
    assert reply.status == 200
    assert "hg clone http://hg.example/small" in reply.text
    assert "second &lt;b&gt;" in reply.text
    assert "third" in reply.text
    assert "first" not in reply.text
    assert "Jane Doe" in reply.text
    assert "example.org" not in reply.text


def test_landing_page_has_no_clone_line_where_nobody_may_clone(tmp_path: Path) -> None:
    repository = new(tmp_path / "r")
    (repository / ".hg" / "hgrc").write_text("[web]\nallow-pull = no\n")
    reply = get(make_app(repository), "/")
    assert reply.status == 200
    assert "hg clone" not in reply.text
    assert "pulling are switched off" in reply.text


def test_landing_page_shows_bookmarks_and_tags_of_heads(tmp_path: Path) -> None:
    repository = new(tmp_path / "r")
    commit(repository, "a", b"1", "one")
    run(repository, "bookmark", "mine")
    run(repository, "tag", "--local", "v1")
    assert "<td>mine, v1</td>" in get(make_app(repository), "/").text


HTML = (b"accept", b"text/html,*/*")


def test_below_a_repository_its_page_is_named(made: Path) -> None:
    app = make_app(made)
    for target, href in (
        ("/small/rev/tip", "../../small/"),
        ("/group/deep/log", "../../group/deep/"),
    ):
        page = get(app, target, HTML)
        assert page.status == 404
        assert "of hgweb&#39;s pages there are none here" in page.text
        assert f'href="{href}"' in page.text
        assert "none here but" in one_line(get(app, target))
    assert "hgweb" not in get(app, "/small/nothing", HTML).text
    assert 'href="../small/"' in get(app, "/small/nothing", HTML).text
    assert 'href="./"' in get(make_app(made / "small"), "/log", HTML).text
    assert "href" not in get(app, "/none/log", HTML).text


def test_a_name_for_all_names_none_of_many(made: Path) -> None:
    config = ["web.name=all alike"]
    assert "all alike" not in get(make_app(made, config=config), "/").text
    assert "all alike" not in get(make_app(made, config=config), "/small").text
    assert "all alike" in get(make_app(made / "small", config=config), "/").text


def test_who_may_not_read_is_told_what_to_do(tmp_path: Path) -> None:
    repository = new(tmp_path / "r", "[web]\ndeny_read = *\n")
    reply = get(make_app(repository), "/")
    assert reply.status == 401
    assert "ask those who run this server" in reply.text


def test_landing_page_keeps_secrets(tmp_path: Path) -> None:
    repository = new(tmp_path / "r")
    commit(repository, "a", b"1", "open")
    run(repository, "phase", "--public", ".")
    commit(repository, "a", b"2", "classified")
    run(repository, "phase", "--secret", "--force", ".")
    reply = get(make_app(repository), "/")
    assert "open" in reply.text
    assert "classified" not in reply.text


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("immutable", {"public"}),
        ("served", {"draft"}),
        ("no-such-view", {"draft"}),
        ("all", {"secret"}),
    ],
)
def test_landing_page_shows_the_heads_of_web_view(
    tmp_path: Path, view: str, shown: set[str]
) -> None:
    repository = new(tmp_path / "r", f"[web]\nview = {view}\n")
    for phase in ("public", "draft", "secret"):
        commit(repository, "a", phase.encode(), f"this one is {phase}")
        run(repository, "phase", f"--{phase}", "--force", ".")
    reply = get(make_app(repository), "/")
    phases = ("public", "draft", "secret")
    assert {phase for phase in phases if f"this one is {phase}" in reply.text} == shown


def test_browser_gets_a_page_and_hg_a_line_where_nothing_is(made: Path) -> None:
    app = make_app(made)
    page = get(app, "/<script>", (b"accept", b"text/html,*/*"))
    assert page.status == 404
    assert page.header(b"content-type") == b"text/html; charset=utf-8"
    assert "<script>" not in page.text
    assert one_line(get(app, "/none")) == "not found"


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("PUT", "/small", 405),
        ("DELETE", "/small?cmd=heads", 405),
        ("OPTIONS", "/", 405),
        ("POST", "/small", 405),
        ("PROPFIND", "/small", 405),
        ("HG", "/small?cmd=heads", 405),
    ],
)
def test_other_methods_are_refused(made: Path, method: str, target: str, status: int) -> None:
    reply = ask(make_app(made), Client(method, target))[0]
    assert reply.status == status
    one_line(reply)
    assert reply.header(b"allow") in (b"GET, HEAD", b"GET, HEAD, POST")


def test_unknown_command_is_said_to_the_client(made: Path) -> None:
    reply = get(make_app(made / "small"), "/?cmd=nonsense")
    assert reply.header(b"content-type") == b"application/hg-error"
    assert b"nonsense" in reply.body


def test_bad_hgrc_is_an_error_of_that_repository_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    new(tmp_path / "bad", "[server]\ncompressionengines = nope\n")
    new(tmp_path / "worse", "[server\n")
    new(tmp_path / "good")
    app = make_app(tmp_path)
    with caplog.at_level(logging.ERROR):
        assert get(app, "/good?cmd=heads").status == 200
        assert not caplog.records
        for name in ("bad", "worse"):
            caplog.clear()
            assert get(app, f"/{name}?cmd=heads").status == 500
            assert len(caplog.records) == 1
            assert len(caplog.text.splitlines()) == 1
            assert name in caplog.text


def test_log_has_command_engine_and_no_arguments(made: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = Settings(log=Log(access=str(log), format="json"))
    app = make_app(made / "small", settings=settings)
    agent = (b"user-agent", b"mercurial/proto-1.0")
    reply = get(app, "/" + getbundle(made / "small"), agent)
    get(app, "/?cmd=lookup&key=hunter2")
    get(app, "/?cmd=hunter2")
    text = log.read_text()
    assert "hunter2" not in text
    bundle, lookup, unknown = (json.loads(line) for line in text.splitlines())
    assert bundle["command"] == "getbundle"
    assert bundle["engine"] == "zlib"
    assert bundle["bytes"] == len(reply.body)
    assert bundle["outcome"] == "ok"
    assert bundle["user_agent"] == "mercurial/proto-1.0"
    assert lookup["command"] == "lookup"
    assert unknown["command"] is None


def test_lifespan_opens_and_closes(made: Path) -> None:
    ready: list[bool] = []
    app = App(Settings(paths=[str(made)], log=Log(access="")), ready=lambda: ready.append(True))
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[str] = []

    async def run() -> None:
        async def receive() -> dict[str, str]:
            return messages.pop(0)

        async def send(message: object) -> None:
            assert isinstance(message, dict)
            sent.append(message["type"])

        await app({"type": "lifespan"}, receive, send)

    asyncio.run(run())
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert ready == [True]


@pytest.mark.parametrize(
    ("command", "body", "may_push", "expected"),
    [
        (b"listkeys", b"namespace=phases", True, True),
        (b"listkeys", b"namespace=phases", False, False),
        (b"listkeys", b"namespace=bookmarks", True, False),
        (b"heads", b"namespace=phases", True, False),
    ],
)
def test_who_asks_for_phases_and_may_push_is_going_to(
    command: bytes, body: bytes, may_push: bool, expected: bool
) -> None:
    request = Request("POST", body=body, may_push=may_push)
    assert announces_push(Way((), command), request) == expected
