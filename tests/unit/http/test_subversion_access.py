"""Who may do what with Subversion repositories, and what nobody may learn, as for Mercurial's."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import bcrypt
import pytest
from msgspec.structs import replace
from tests.unit.http.driving import Client, Reply, ask, make_app
from tests.unit.http.test_access import ALICE, BOB, HTML, PASSWORDS, Header, basic, without_www

from trunkline.access.token_file import change_tokens
from trunkline.access.tokens import Tokens, make_token
from trunkline.config.auth import Auth, Rule
from trunkline.config.settings import Log, Server, Settings
from trunkline.config.subversion import Subversion
from trunkline.http.app import HIDING_SECONDS, App

RULES = [
    Rule(["team/**"], read=[], write=["alice"]),
    Rule(["public"], write=["alice"]),
    Rule(["shut"], read=[]),
]
SVN = (b"user-agent", b"SVN/1.14.2 (x86_64-pc-linux-gnu) serf/1.3.9")
BEGIN = (b"content-type", b"application/vnd.svn-skel")
AUTHZ = """\
[/]
* = r
[inner:/]
* =
bob = r
[free:/]
* = rw
"""


@pytest.fixture(scope="module")
def repos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of RULES; free and inner, that no rule is about; a link to team/a."""
    root = tmp_path_factory.mktemp("repos")
    (root / "team").mkdir()
    for name in ("public", "team/a", "free", "inner", "shut"):
        subprocess.run(["svnadmin", "create", str(root / name)], check=True)
    (root / "link").symlink_to("team/a")
    return root


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "htpasswd"
    lines = [
        f"{user}:{bcrypt.hashpw(word, bcrypt.gensalt(4)).decode()}\n"
        for user, word in PASSWORDS.items()
    ]
    path.write_text("".join(lines))
    return Settings(
        log=Log(access=""),
        auth=Auth(password_file=str(path), realm="Our code"),
        access=RULES,
        subversion=Subversion(transactions=str(tmp_path / "state")),
    )


@pytest.fixture
def app(repos: Path, settings: Settings) -> App:
    return make_app(repos, settings=settings)


def svn(app: App, target: str, *headers: Header, method: str = "OPTIONS") -> Reply:
    return ask(app, Client(method, target, [SVN, *headers]))[0]


def begin(app: App, name: str, *headers: Header) -> Reply:
    """The first that `svn commit` asks for."""
    client = Client("POST", f"/{name}/!svn/me", [SVN, BEGIN, *headers], [b"( create-txn )"])
    return ask(app, client)[0]


def test_rule_decides_who_reads(app: App) -> None:
    reply = svn(app, "/team/a/trunk")
    assert reply.status == 401
    assert [value for name, value in reply.headers if name == b"www-authenticate"] == [
        b'Basic realm="Our code", charset="UTF-8"',
        b'Bearer realm="Our code"',
    ]
    assert svn(app, "/team/a/trunk", ALICE).status == 200
    reply = svn(app, "/team/a/trunk", BOB)
    assert (reply.status, reply.header(b"www-authenticate")) == (403, None)
    assert b'errcode="175013"' in reply.body
    assert svn(app, "/shut").status == svn(app, "/shut", ALICE).status == 403
    for headers in ((), (ALICE,), (BOB,)):
        assert svn(app, "/public", *headers).status == 200


def test_rule_decides_who_writes(app: App) -> None:
    reply = begin(app, "public")
    assert reply.status == 401
    assert any(name == b"www-authenticate" for name, _ in reply.headers)
    assert begin(app, "public", BOB).status == 403
    assert begin(app, "public", ALICE).status == 201
    assert begin(app, "public", basic("alice", b"wrong")).status == 401
    for headers in ((), (ALICE,)):  # no rule: nobody, and no login would help
        assert begin(app, "free", *headers).status == 403


def test_a_transaction_is_its_users_own(app: App, settings: Settings) -> None:
    name = begin(app, "public", ALICE).header(b"svn-txn-name")
    assert name is not None
    target = f"/public/!svn/txr/{name.decode()}/new"
    assert svn(app, target, method="MKCOL").status == 401
    assert svn(app, target, BOB, method="MKCOL").status == 403
    assert svn(app, target, ALICE, method="MKCOL").status == 201
    open_to_both = replace(settings, access=[Rule(["public"], write=["alice", "bob"])])
    other = make_app(app._door._roots.mounts[0].root, settings=open_to_both)
    assert svn(other, target + "er", BOB, method="MKCOL").status == 501
    assert svn(other, target + "er", ALICE, method="MKCOL").status == 201


def test_anonymous_may_write_where_the_operator_says_so(repos: Path, settings: Settings) -> None:
    app = make_app(repos, settings=replace(settings, allow_write="anonymous"))
    assert begin(app, "free").status == begin(app, "public", BOB).status == 201
    assert begin(app, "team/a").status == 401
    assert begin(app, "team/a", BOB).status == 403


def test_access_file_is_asked_for_the_user(repos: Path, settings: Settings) -> None:
    file = Path(settings.subversion.transactions).with_name("authz")
    file.write_text(AUTHZ)
    subversion = replace(settings.subversion, access_file=str(file))
    app = make_app(repos, settings=replace(settings, subversion=subversion))
    assert [svn(app, "/inner", *who).status for who in ((), (ALICE,), (BOB,))] == [401, 403, 200]
    # No rule is about it, so the file decides, but for who isn't logged in.
    assert [begin(app, "free", *who).status for who in ((), (ALICE,), (BOB,))] == [401, 201, 201]
    # A rule and the file: what one refuses is refused.
    assert begin(app, "public", ALICE).status == 403
    for headers, is_listed in (((), False), ((ALICE,), False), ((BOB,), True)):
        page = ask(app, Client("GET", "/", [HTML, *headers]))[0]
        assert ('href="inner/"' in page.text) is is_listed
        assert 'href="free/"' in page.text


def test_token_is_good_for_its_scope(repos: Path, settings: Settings, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text("")
    made = make_token("alice", ("team/**",), False, None)
    change_tokens(str(tokens), lambda _: Tokens({made.token.id: made.token}))
    auth = replace(settings.auth, token_file=str(tokens))
    app = make_app(repos, settings=replace(settings, auth=auth, allow_write="anonymous"))
    token = basic("alice", made.text.encode())
    assert svn(app, "/team/a", token).status == 200
    assert begin(app, "team/a", token).status == 403
    assert svn(app, "/public", token).status == 403
    assert begin(app, "team/a", ALICE).status == 201


WHO: list[tuple[Header, ...]] = [(), (BOB,), (HTML,), (HTML, BOB), (basic("bob", b"wrong"),)]
METHODS = ("GET", "HEAD", "OPTIONS", "PROPFIND", "POST", "PUT", "MKCOL", "LOCK")
BELOW = ("", "/", "/db", "/!svn/me", "/a/.hg/x")


@pytest.mark.parametrize("headers", WHO)
def test_hidden_looks_like_missing(
    repos: Path, settings: Settings, headers: tuple[Header, ...]
) -> None:
    """With whatever method, from svn or a browser, at it and below it: all at once, as each waits
    a while.
    """
    rules = [*RULES[:2], Rule(["shut", "shot"], read=[])]  # of these the name alone tells
    app = make_app(repos, settings=replace(settings, access=rules))
    svn(app, "/team/a", ALICE)
    svn(app, "/public", *headers)
    asked = [
        (method, there + below, missing + below, [*agent, *headers])
        for there, missing in (("/team/a", "/team/x"), ("/link", "/lynk"), ("/shut", "/shot"))
        for agent in ((SVN,), ())
        for method in METHODS
        for below in BELOW
    ]
    clients = [
        Client(method, path, shown, address=f"127.1.{number // 250}.{number % 250}")
        for number, (method, *paths, shown) in enumerate(asked)
        for path in paths
    ]
    replies = iter(ask(app, *clients))
    for question, one, other in zip(asked, replies, replies, strict=True):
        assert without_www(one) == without_www(other), question
        assert one.status in (401, 403, 404, 405)


def test_hidden_takes_as_long_as_missing(app: App) -> None:
    seconds: dict[str, list[float]] = {"/link": [], "/lynk": []}
    for target, found in [*seconds.items()] * 6:
        start = time.monotonic()
        assert svn(app, target, BOB).status == 404
        found.append(time.monotonic() - start)
    hidden, missing = (min(found) for found in seconds.values())
    assert min(hidden, missing) > HIDING_SECONDS
    assert abs(hidden - missing) < HIDING_SECONDS / 2


def test_list_has_what_somebody_may_read(app: App) -> None:
    for headers, names in (((), {"public", "free", "inner"}), ((ALICE,), {"public", "team/a"})):
        page = ask(app, Client("GET", "/", [HTML, *headers]))[0]
        for name in ("public", "team/a", "shut", "link"):
            assert (f'href="{name}/"' in page.text) is (name in names), name


def test_too_many_wrong_ones_are_told_when_to_come_again(repos: Path, settings: Settings) -> None:
    auth = replace(settings.auth, failures_per_login=2)
    app = make_app(repos, settings=replace(settings, auth=auth))
    for guess in (b"a", b"b"):
        assert svn(app, "/public", basic("alice", guess)).status == 401
    reply = svn(app, "/public", ALICE)
    assert reply.status == 429
    assert int(reply.header(b"retry-after") or 0) > 200


def test_log_names_the_user(repos: Path, settings: Settings, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    app = make_app(repos, settings=replace(settings, log=Log(access=str(log), format="json")))
    svn(app, "/public", ALICE)
    app._log.close()
    assert '"user":"alice"' in log.read_text().replace(" ", "")


def test_what_a_trusted_proxy_has_taken_off_stands_in_urls(repos: Path, settings: Settings) -> None:
    headers = (SVN, (b"x-forwarded-prefix", b"/code"))
    for proxies, expected in ((["127.0.0.1"], b"/code/public"), ([], b"/public")):
        app = make_app(repos, settings=replace(settings, server=Server(trusted_proxies=proxies)))
        reply = ask(app, Client("OPTIONS", "/public", headers, address="127.0.0.1"))[0]
        assert dict(reply.headers)[b"svn-repository-root"] == expected
