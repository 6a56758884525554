"""Who may do what, through the whole application: statuses, words, and what nobody may learn."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import bcrypt
import pytest
from tests.unit.http.conftest import commit, new
from tests.unit.http.driving import Client, Reply, ask, get, make_app, post

from trunkline.access.token_file import change_tokens
from trunkline.access.tokens import Tokens, make_token
from trunkline.config.auth import Auth, Rule
from trunkline.config.settings import Log, Server, Settings
from trunkline.http.app import HIDING_SECONDS, App

PASSWORDS = {"alice": b"secret", "bob": b"other"}
Header = tuple[bytes, bytes]


def basic(user: str, password: bytes | None = None) -> Header:
    secret = PASSWORDS[user] if password is None else password
    return b"authorization", b"Basic " + b64encode(user.encode() + b":" + secret)


ALICE, BOB = basic("alice"), basic("bob")
HTML = (b"accept", b"text/html,*/*")


@pytest.fixture(scope="module")
def repos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """public; team/a by a rule for alice; listed, by its own hgrc for alice."""
    root = tmp_path_factory.mktemp("repos")
    for name in ("public", "team/a"):
        commit(new(root / name), "f", b"1", "one")
    commit(new(root / "listed", "[web]\nallow_read = alice\n"), "f", b"1", "one")
    commit(new(root / "denied", "[web]\ndeny_read = *\n"), "f", b"1", "one")
    (root / "link").symlink_to("team/a")
    return root


RULES = [
    Rule(["team/**"], read=[], write=["alice"]),
    Rule(["public"], write=["alice"]),
]


@pytest.fixture
def passwords(tmp_path: Path) -> Path:
    path = tmp_path / "htpasswd"
    lines = [
        f"{user}:{bcrypt.hashpw(word, bcrypt.gensalt(4)).decode()}\n"
        for user, word in PASSWORDS.items()
    ]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def settings(passwords: Path) -> Settings:
    return Settings(
        log=Log(access=""),
        auth=Auth(password_file=str(passwords), realm="Our code"),
        access=RULES,
        config=["web.push_ssl=no"],
    )


@pytest.fixture
def app(repos: Path, settings: Settings) -> App:
    return make_app(repos, settings=settings)


def push(app: App, target: str, *headers: Header) -> Reply:
    query = f"{target}?cmd=unbundle&heads={b'force'.hex()}"
    return post(app, query, b"HG10UN" + b"\0" * 4, *headers)


def without_www(reply: Reply) -> tuple[int, list[Header], bytes]:
    return reply.status, sorted(reply.headers), reply.body


def test_rule_decides_who_reads(app: App) -> None:
    target = "/team/a?cmd=heads"
    reply = get(app, target)
    assert reply.status == 401
    assert reply.body == b"0\nread not authorized\n"
    assert [value for name, value in reply.headers if name == b"www-authenticate"] == [
        b'Basic realm="Our code", charset="UTF-8"',
        b'Bearer realm="Our code"',
    ]
    assert get(app, target, ALICE).status == 200
    reply = get(app, target, BOB)
    assert (reply.status, reply.header(b"www-authenticate")) == (403, None)


def test_stock_clients_are_offered_basic_alone(app: App) -> None:
    agent = (b"user-agent", b"mercurial/proto-1.0 (Mercurial 5.0)")
    reply = get(app, "/team/a?cmd=heads", agent)
    assert reply.header(b"www-authenticate") == b'Basic realm="Our code", charset="UTF-8"'


def test_hgrc_decides_who_reads(app: App) -> None:
    assert get(app, "/listed?cmd=heads").status == 401
    assert get(app, "/listed?cmd=heads", ALICE).status == 200
    assert get(app, "/listed?cmd=heads", BOB).status == 404


@pytest.mark.parametrize("target", ["/public?cmd=heads", "/public?cmd=capabilities", "/public"])
def test_everybody_reads_by_default(app: App, target: str) -> None:
    for headers in ((), (ALICE,), (BOB,)):
        assert get(app, target, *headers).status == 200


def test_wrong_login_is_told_even_where_none_is_needed(app: App) -> None:
    reply = get(app, "/public?cmd=heads", basic("alice", b"wrong"))
    assert reply.status == 401
    assert reply.text == "the login is not valid\n"
    assert any(name == b"www-authenticate" for name, _ in reply.headers)


def test_too_many_wrong_ones_are_told_when_to_come_again(repos: Path, settings: Settings) -> None:
    auth = Auth(password_file=settings.auth.password_file, failures_per_login=2)
    app = make_app(repos, settings=Settings(log=Log(access=""), auth=auth, access=RULES))
    for guess in (b"a", b"b"):
        assert get(app, "/public?cmd=heads", basic("alice", guess)).status == 401
    reply = get(app, "/public?cmd=heads", ALICE)
    assert reply.status == 429
    wait = reply.header(b"retry-after")
    assert wait is not None
    assert 290 <= int(wait) <= 300


def is_refused(reply: Reply) -> bool:
    """In words that a stock client shows."""
    is_error = reply.header(b"content-type") == b"application/hg-error"
    return reply.status == 200 and is_error and reply.text == "push not authorized\n"


def test_rule_decides_who_writes(app: App, caplog: pytest.LogCaptureFixture) -> None:
    reply = push(app, "/public")
    assert (reply.status, reply.body) == (401, b"0\npush not authorized\n")
    assert any(name == b"www-authenticate" for name, _ in reply.headers)
    assert is_refused(push(app, "/public", BOB))
    assert "unbundle refused: push not authorized [access, " in caplog.text
    assert push(app, "/public", basic("alice", b"wrong")).status == 401
    reply = push(app, "/public", ALICE)
    assert reply.status == 200
    assert not is_refused(reply)


def test_where_nobody_may_write_nobody_is_asked_to_log_in(app: App) -> None:
    assert is_refused(push(app, "/listed", ALICE))
    assert is_refused(push(make_app_without_rules(app), "/public"))


def make_app_without_rules(app: App) -> App:
    settings = app._settings
    bare = Settings(log=Log(access=""), auth=settings.auth, config=settings.config)
    return App(bare, app._door._roots)


# -- what isn't there, and what may not be known of


HIDDEN = (
    ("/listed", "/missin"),
    ("/denied", "/missin"),
    ("/team/a", "/team/x"),
    ("/link", "/lynk"),
)
QUERIES = ("?cmd=heads", "?cmd=capabilities", "?cmd=unbundle", "")


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("headers", [(), (BOB,), (HTML,), (HTML, BOB), (basic("bob", b"wrong"),)])
def test_hidden_looks_like_missing(app: App, headers: tuple[Header, ...], is_open: bool) -> None:
    """Whether somebody who may has it open or not. All at once, as each waits a while."""
    for there, _ in HIDDEN * 2 * is_open:
        get(app, there + "?cmd=heads", ALICE)
    get(app, "/public", *headers)
    asked = [
        (method, there + query, missing + query)
        for there, missing in HIDDEN
        for query in QUERIES
        for method in ("GET", "HEAD", "POST")
    ]
    body = (b"content-length", b"0")
    clients = [
        Client(
            method, path, [*headers, body] if method == "POST" else headers, address=f"127.1.1.{n}"
        )
        for n, (method, *paths) in enumerate(asked)
        for path in paths
    ]
    replies = iter(ask(app, *clients))
    for question, one, other in zip(asked, replies, replies, strict=True):
        assert without_www(one) == without_www(other), question
        assert one.status in (401, 403, 404, 405)


def test_hidden_takes_as_long_as_missing(repos: Path, settings: Settings) -> None:
    """The first time, too, when its configuration isn't known yet."""
    seconds: dict[str, list[float]] = {"/listed": [], "/missin": []}
    for _ in range(4):
        app = make_app(repos, settings=settings)
        for target, found in seconds.items():
            for _ in range(3):
                start = time.monotonic()
                assert get(app, target + "?cmd=heads", BOB).status == 404
                found.append(time.monotonic() - start)
    # Of several: whatever else the machine does may come to any one of them.
    hidden, missing = (statistics.quantiles(found)[0] for found in seconds.values())
    assert min(hidden, missing) > HIDING_SECONDS
    assert abs(hidden - missing) < HIDING_SECONDS / 2


def test_without_logins_hidden_is_missing_for_all(repos: Path) -> None:
    app = make_app(repos, settings=Settings(log=Log(access="")))
    for target in ("/listed?cmd=heads", "/missing?cmd=heads", "/listed", "/missing"):
        reply = get(app, target)
        assert (reply.status, reply.header(b"www-authenticate")) == (404, None)


@pytest.mark.parametrize("is_open", [False, True])
def test_nothing_below_a_hidden_repository_names_it(app: App, is_open: bool) -> None:
    if is_open:
        get(app, "/listed?cmd=heads", ALICE)
    pages = [get(app, f"/{name}/file", HTML, BOB) for name in ("listed", "missin")]
    assert without_www(pages[0]) == without_www(pages[1])
    assert pages[0].status == 404
    assert 'href="../listed/"' in get(app, "/listed/file", HTML, ALICE).text


def test_a_picture_of_the_site_asks_for_no_login(app: App) -> None:
    assert get(app, "/favicon.ico", (b"accept", b"image/*")).status == 404
    assert get(app, "/robots.txt").status == 404
    assert get(app, "/none", HTML).status == 401


@pytest.mark.parametrize(
    ("headers", "names"),
    [
        ((), ["public"]),
        ((BOB,), ["public"]),
        ((ALICE,), ["listed", "public", "team/a"]),
    ],
)
def test_list_has_what_somebody_may_read(
    app: App, headers: tuple[Header, ...], names: list[str]
) -> None:
    reply = get(app, "/", *headers)
    assert reply.status == 200
    for name in ("link", "listed", "public", "team/a", "denied"):
        assert (f'href="{name}/"' in reply.text) is (name in names), name
    assert get(app, "/team", *headers).status == (200 if ALICE in headers else 404)


def test_list_of_nothing_asks_for_a_login(repos: Path, settings: Settings) -> None:
    closed = Settings(
        log=Log(access=""),
        auth=Auth(password_file=settings.auth.password_file, anonymous_read=False),
    )
    app = make_app(repos, settings=closed)
    assert get(app, "/", HTML).status == 401
    assert get(app, "/", HTML, BOB).status == 200
    assert get(app, "/public?cmd=heads").status == 401
    assert get(app, "/public?cmd=heads", BOB).status == 200


def test_link_gives_no_more_than_what_it_leads_to(app: App) -> None:
    assert get(app, "/link?cmd=heads").status == 401
    assert get(app, "/link?cmd=heads", BOB).status == 404
    assert get(app, "/link?cmd=heads", ALICE).status == 200


def test_a_repository_served_alone_is_no_secret(repos: Path, settings: Settings) -> None:
    app = make_app(repos / "listed", settings=settings)
    assert get(app, "/?cmd=heads").status == 401
    assert get(app, "/?cmd=heads", BOB).status == 403
    assert get(app, "/", BOB).status == 403
    assert get(app, "/?cmd=heads", ALICE).status == 200


# -- ways to log in


def test_token_is_good_for_its_scope(repos: Path, settings: Settings, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text("")
    made = make_token("alice", ("team/**",), False, None)
    change_tokens(str(tokens), lambda _: Tokens({made.token.id: made.token}))
    auth = Auth(password_file=settings.auth.password_file, token_file=str(tokens))
    app = make_app(
        repos,
        settings=Settings(log=Log(access=""), auth=auth, access=RULES, config=["web.push_ssl=no"]),
    )
    bearer = (b"authorization", b"Bearer " + made.text.encode())
    for header in (bearer, basic("alice", made.text.encode())):
        assert get(app, "/team/a?cmd=heads", header).status == 200
        assert get(app, "/public?cmd=heads", header).status == 403
        assert is_refused(push(app, "/team/a", header))
    assert not is_refused(push(app, "/team/a", ALICE))
    assert get(app, "/team/a?cmd=heads", basic("bob", made.text.encode())).status == 401


def test_user_of_a_trusted_proxy(repos: Path) -> None:
    auth = Auth(user_header="X-Remote-User")
    settings = Settings(
        log=Log(access=""),
        auth=auth,
        access=RULES,
        server=Server(trusted_proxies=["127.0.0.1"]),
    )
    app = make_app(repos, settings=settings)
    user = (b"x-remote-user", b"alice")
    target = "/team/a?cmd=heads"
    assert get(app, target, user).status == 200
    assert b"more than once" in get(app, target, user, (user[0], b"bob")).body
    stranger = Client(target=target, headers=[user], address="192.0.2.1")
    assert ask(app, stranger)[0].status == 401
    assert get(app, target).status == 401


def test_repeated_header_is_refused(app: App) -> None:
    reply = get(app, "/team/a", ALICE, BOB)
    assert reply.status == 400
    assert "authorization came more than once" in reply.text


# -- what is done with who it is


def test_who_may_have_to_log_in_sends_no_arguments_in_a_body(app: App) -> None:
    target = "/public?cmd=capabilities"
    for _ in range(5):
        assert b"httppostargs" not in get(app, target).body.split()
        assert b"httppostargs" in get(app, target, ALICE).body.split()
    assert b"httppostargs" in get(make_app(app._door._roots.mounts[0].root), target).body.split()


def test_answers_of_before_are_not_given_to_who_may_now_have_to_log_in(
    repos: Path, passwords: Path, tmp_path: Path
) -> None:
    file = tmp_path / "s.toml"
    file.write_text("")
    app = App(Settings(log=Log(access=""), paths=[str(repos)]), settings_file=str(file))
    for text, is_there in (("", True), ('[auth]\npassword_file = "htpasswd"\n', False)):
        file.write_text(text)
        for _ in range(6):
            words = get(app, "/public?cmd=capabilities").body.split()
            assert (b"httppostargs" in words) is is_there


def test_log_has_the_user(repos: Path, settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    logged = Settings(log=Log(access=str(file), format="json"), auth=settings.auth, access=RULES)
    app = make_app(repos, settings=logged)
    for header in (ALICE, basic("alice", b"wrong"), basic("bob")):
        get(app, "/team/a?cmd=heads", header)
    app._log.flush()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["user"], line["status"]) for line in lines] == [
        ("alice", 200),
        (None, 401),
        ("bob", 403),
    ]
    assert "secret" not in file.read_text()


def test_changed_rules_count_at_once(repos: Path, passwords: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    text = '[auth]\npassword_file = "htpasswd"\n[[access]]\nread = ["{}"]\n'
    file.write_text(text.format("alice"))
    app = App(Settings(log=Log(access=""), paths=[str(repos)]), settings_file=str(file))
    target = "/public?cmd=heads"
    for _ in range(6):  # now it is answered without a thread
        assert get(app, target, ALICE).status == 200
    assert get(app, target, BOB).status == 403
    file.write_text(text.format("bob"))
    assert get(app, target, ALICE).status == 403
    assert get(app, target, BOB).status == 200
    file.write_text("[[access]")
    assert get(app, target, BOB).status == 200


def test_hashing_keeps_nobody_waiting(repos: Path, tmp_path: Path) -> None:
    """A login that takes its time holds up neither others nor the event loop."""
    slow = tmp_path / "slow"
    slow.write_text(f"alice:{bcrypt.hashpw(b'secret', bcrypt.gensalt(12)).decode()}\n")
    auth = Auth(password_file=str(slow), threads=1)
    app = make_app(repos, settings=Settings(log=Log(access=""), auth=auth))

    async def run() -> tuple[float, Any]:
        app.open()
        wrong = [
            Client(target="/public?cmd=heads", headers=[basic("alice", b"%d" % number)])
            for number in range(3)
        ]
        tasks = [asyncio.create_task(client.ask(app)) for client in wrong]
        await asyncio.sleep(0.05)
        start = time.monotonic()
        reply = await Client(target="/public?cmd=heads").ask(app)
        seconds = time.monotonic() - start
        assert reply.status == 200
        assert not all(task.done() for task in tasks)
        statuses = [(await task).status for task in tasks]
        app.close_threads()
        return seconds, statuses

    _, statuses = asyncio.run(run())
    assert statuses == [401] * 3


def test_guests_take_turns_at_logging_in(repos: Path, tmp_path: Path) -> None:
    """Whoever tries many passwords waits behind them; another doesn't."""
    slow = tmp_path / "slow"
    slow.write_text(f"alice:{bcrypt.hashpw(b'secret', bcrypt.gensalt(9)).decode()}\n")
    auth = Auth(password_file=str(slow), threads=1)
    app = make_app(repos, settings=Settings(log=Log(access=""), auth=auth))
    ended: list[str] = []

    async def ask_one(address: str, password: bytes) -> int:
        header = basic("alice", password)
        client = Client(target="/public?cmd=heads", headers=[header], address=address)
        reply = await client.ask(app)
        ended.append(address)
        return reply.status

    async def run() -> list[int]:
        app.open()
        await Client(target="/public?cmd=heads").ask(app)  # opens it, which takes a while
        guesses = [asyncio.create_task(ask_one("192.0.2.1", b"%d" % n)) for n in range(8)]
        await asyncio.sleep(0.01)
        statuses = [await ask_one("192.0.2.2", b"secret")]
        statuses += [await guess for guess in guesses]
        app.close_threads()
        return statuses

    assert asyncio.run(run()) == [200] + [401] * 8
    assert ended.index("192.0.2.2") <= 3


def test_refused_push_reads_no_body_before_it_asks_for_a_login(app: App) -> None:
    """With `Expect`, the client waits for a word: it is 401, and nothing was sent."""
    target = f"/public?cmd=unbundle&heads={b'force'.hex()}"
    headers = [(b"content-length", b"100000"), (b"expect", b"100-continue")]
    client = Client("POST", target, headers, [])
    (reply,) = ask(app, client)
    assert reply.status == 401
