"""Stock clients that must log in: how they are asked, what they are told, and over TLS."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

import bcrypt
import pytest
from msgspec.structs import replace
from tests.compat.hg import Finished, Hg
from tests.compat.history import assert_same
from tests.compat.serving import Serve, Serving, serving
from tests.compat.sources import Source
from tests.compat.warm import WARM
from tests.unit.http.certificates import Authority

from trunkline.access.token_file import change_tokens
from trunkline.access.tokens import Made, Tokens, make_token
from trunkline.config.auth import Tls

PASSWORDS = {"alice": "se:cret &%/", "bob": "other"}  # alice writes, bob reads
SETTINGS = """\
allow_write = "authenticated"
config = ["web.push_ssl=no"]
[auth]
password_file = "htpasswd"
token_file = "tokens.json"
[groups]
staff = ["alice", "bob"]
[[access]]
repositories = ["**/private/**"]
read = ["@staff"]
write = ["alice"]
[[access]]
repositories = ["**/nobody/**"]
read = []
[[access]]
write = ["alice", "ci"]
"""
PUBLISHED = [b"phase"]


@dataclass
class Site:
    """Repositories under names, and who may use them. `name` is the folder of these repositories
    on a server that has others, of whose log what is after `seen` is of now.
    """

    folder: Path
    url: str = ""
    server: Serving | None = None
    name: str = ""
    seen: int = 0

    @property
    def repos(self) -> Path:
        return self.folder / "repos" / self.name

    @property
    def path(self) -> str:
        """Of URLs."""
        return f"/{self.name}" if self.name else ""

    def take(self, source: Source, *names: str) -> None:
        for name in names:
            shutil.copytree(source("rich"), self.repos / name, symlinks=True)

    @property
    def settings(self) -> Path:
        return self.folder / "s.toml"

    def write(self, text: str = SETTINGS) -> None:
        hashed = {
            user: bcrypt.hashpw(word.encode(), bcrypt.gensalt(5)).decode()
            for user, word in PASSWORDS.items()
        }
        lines = "".join(f"{user}:{text}\n" for user, text in hashed.items())
        (self.folder / "htpasswd").write_text(lines)
        (self.folder / "tokens.json").write_text("")
        self.settings.write_text(text)

    def serve(self, serve: Serve) -> None:
        self.server = serve(self.folder / "repos", "--settings", str(self.settings))
        self.url = self.server.url

    def token(self, user: str, *globs: str, write: bool = False) -> Made:
        made = make_token(user, globs or ("**",), write, None)
        path = str(self.folder / "tokens.json")
        change_tokens(path, lambda old: Tokens({**old.by_id, made.token.id: made.token}))
        return made

    def log(self) -> str:
        assert self.server is not None
        return self.server.log()[self.seen :]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """For all tests that change none of its settings."""
    one = Site(tmp_path_factory.mktemp("site"))
    one.repos.mkdir()
    one.write()
    options = ("--settings", str(one.settings))
    with serving(one.repos, one.folder / "server", *options) as server:
        one.server, one.url = server, server.url
        yield one


@pytest.fixture
def site(source: Source, served: Site, tmp_path: Path) -> Iterator[Site]:
    name, seen = tmp_path.name, len(served.log())
    one = Site(served.folder, f"{served.url}/{name}", served.server, name, seen)
    one.take(source, "public", "private/a", "nobody/b")
    yield one
    assert one.server is not None
    one.server.check_log()


def auth(url: str, user: str, password: str | None = None) -> list[str]:
    """As the client's hgrc would have it."""
    secret = PASSWORDS[user] if password is None else password
    values = {"prefix": url.partition("://")[2], "username": user, "password": secret}
    values["schemes"] = "http https"
    return [word for key, value in values.items() for word in ("--config", f"auth.x.{key}={value}")]


def clone(hg: Hg, url: str, target: Path, *options: str, expect: int | None = 0) -> Finished:
    return hg.run("clone", "--noninteractive", url, target, *options, expect=expect)


def change(hg: Hg, repository: Path, text: bytes = b"changed\n") -> None:
    (repository / "own").write_bytes(text)
    hg("commit", "--addremove", "--message", "own", cwd=repository)


# -- reading


def test_clone_with_a_password_of_hgrc(hg: Hg, site: Site, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    url = f"{site.url}/private/a"
    clone(hg, url, target, *auth(site.url, "bob"))
    assert_same(hg, target, site.repos / "private/a", without=[*PUBLISHED, b"tag"])
    lines = [line for line in site.log().splitlines() if f"{site.path}/private/a" in line]
    assert f'"GET {site.path}/private/a" 401' in lines[0]
    asked = [line for line in lines if " bob " in line and '" 200 ' in line]
    assert len(asked) >= 2
    assert len(lines) == len(asked) + 1  # one refusal a client, not one a request


def test_clone_with_a_password_in_the_url(hg: Hg, site: Site, tmp_path: Path) -> None:
    url = site.url.replace("://", "://bob:other@") + "/private/a"
    clone(hg, url, tmp_path / "clone")


def test_without_a_password_the_client_asks(hg: Hg, site: Site, tmp_path: Path) -> None:
    done = clone(hg, f"{site.url}/private/a", tmp_path / "clone", expect=255)
    assert b"http authorization required for" in done.err
    assert not (tmp_path / "clone").exists()


def test_wrong_password(hg: Hg, site: Site, tmp_path: Path) -> None:
    secret = token_hex()  # that nobody has tried yet
    options = auth(site.url, "alice", secret)
    done = clone(hg, f"{site.url}/private/a", tmp_path / "clone", *options, expect=255)
    assert b"authorization failed" in done.err
    assert site.log().count("failed login from 127.0.0.1: user 'alice', wrong password") == 1
    assert secret not in site.log()


def test_nobody_may_and_missing_are_told_in_the_same_words(
    hg: Hg, site: Site, tmp_path: Path
) -> None:
    def told(name: str, *options: str) -> tuple[bytes, bytes]:
        url = f"{site.url}/{name}"
        done = clone(hg, url, tmp_path / "clone", *options, expect=255)
        return done.out, done.err.replace(url.encode(), b"URL")

    bob = auth(site.url, "bob")
    assert told("private/a")[1].replace(b"/a", b"") == told("private/x")[1].replace(b"/x", b"")
    assert told("nobody/b", *bob) == told("nobody/x", *bob)
    assert b"HTTP Error 403" in told("nobody/x", *bob)[1]
    assert b"HTTP Error 404" in told("missing", *bob)[1]


def test_everybody_reads_what_is_public(hg: Hg, site: Site, tmp_path: Path) -> None:
    clone(hg, f"{site.url}/public", tmp_path / "clone")


# -- writing


def push(hg: Hg, repository: Path, url: str, *options: str, expect: int | None = 0) -> Finished:
    return hg.run("push", "--noninteractive", url, *options, cwd=repository, expect=expect)


@pytest.fixture
def changed(hg: Hg, site: Site, tmp_path: Path) -> Path:
    return changed_clone(hg, site, tmp_path / "changed")


def changed_clone(hg: Hg, site: Site, target: Path) -> Path:
    clone(hg, f"{site.url}/public", target)
    change(hg, target)
    return target


def tip(repository: Path) -> bytes:
    return WARM("log", "-r", "tip", "-T", "{node}", cwd=repository)


def test_push_with_a_password(hg: Hg, site: Site, changed: Path) -> None:
    push(hg, changed, f"{site.url}/public", *auth(site.url, "alice"))
    assert tip(site.repos / "public") == tip(changed)
    assert any(" alice " in line and "unbundle" in line for line in site.log().splitlines())


def test_push_of_much_that_is_asked_for_a_login_on_the_way(
    hg: Hg, unserved: Site, serve_own: Serve, tmp_path: Path
) -> None:
    """More than what is read of a push that is refused for good."""
    unserved.write(SETTINGS + "[limits]\nrefused_push_bytes = 1000\n")
    unserved.serve(serve_own)
    target = tmp_path / "clone"
    clone(hg, f"{unserved.url}/public", target)
    change(hg, target, os.urandom(16 * 1024 * 1024))
    push(hg, target, f"{unserved.url}/public", *auth(unserved.url, "alice"))
    assert tip(unserved.repos / "public") == tip(target)


def test_push_without_one(hg: Hg, site: Site, changed: Path) -> None:
    done = push(hg, changed, f"{site.url}/public", expect=255)
    assert b"http authorization required for" in done.err
    assert tip(site.repos / "public") != tip(changed)


def test_push_of_who_may_only_read(hg: Hg, site: Site, changed: Path) -> None:
    done = push(hg, changed, f"{site.url}/public", *auth(site.url, "bob"), expect=255)
    assert b"push not authorized" in done.err or b"HTTP Error 403" in done.err
    assert tip(site.repos / "public") != tip(changed)


def test_push_that_mercurial_denies(hg: Hg, site: Site, changed: Path) -> None:
    """What a rule allows."""
    hgrc = site.repos / "public/.hg/hgrc"
    hgrc.write_text("[web]\ndeny_push = alice\n")
    done = push(hg, changed, f"{site.url}/public", *auth(site.url, "alice"), expect=255)
    assert b"push not authorized" in done.err or b"HTTP Error 403" in done.err
    hgrc.write_text("[web]\nallow-push = bob\n")
    push(hg, changed, f"{site.url}/public", *auth(site.url, "alice"), expect=255)
    hgrc.write_text("[web]\nallow-push = bob, alice\n")
    push(hg, changed, f"{site.url}/public", *auth(site.url, "alice"))


def test_token_as_password(hg: Hg, site: Site, changed: Path, tmp_path: Path) -> None:
    reads = site.token("ci").text
    writes = site.token("ci", f"{site.name}/public", write=True)
    url = f"{site.url}/public"
    push(hg, changed, url, *auth(site.url, "ci", reads), expect=255)
    push(hg, changed, url, *auth(site.url, "ci", writes.text))
    assert tip(site.repos / "public") == tip(changed)
    done = clone(
        hg, f"{site.url}/private/a", tmp_path / "x", *auth(site.url, "ci", writes.text), expect=255
    )
    assert b"HTTP Error 403" in done.err
    change_tokens(str(site.folder / "tokens.json"), lambda _: Tokens())
    done = hg.run("id", url, *auth(site.url, "ci", writes.text), cwd=changed)
    assert done.status == 0  # public: a client shows its token only where it is asked to
    change(hg, changed, b"more\n")
    done = push(hg, changed, url, *auth(site.url, "ci", writes.text), expect=255)
    assert b"authorization failed" in done.err


def test_user_of_hooks(hg: Hg, site: Site, changed: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    hgrc = site.repos / "public/.hg/hgrc"
    hgrc.write_text(f"[hooks]\nchangegroup = echo $REMOTE_USER > {seen}\n")
    push(hg, changed, f"{site.url}/public", *auth(site.url, "alice"))
    assert seen.read_text().strip() == "alice"


def test_rules_that_change_under_a_running_server(
    unserved: Site, serve_own: Serve, tmp_path: Path
) -> None:
    hg, site = WARM, unserved
    site.write()
    site.serve(serve_own)
    changed = changed_clone(hg, site, tmp_path / "changed")
    site.settings.write_text(SETTINGS.replace('write = ["alice", "ci"]', 'write = ["bob"]'))
    push(hg, changed, f"{site.url}/public", *auth(site.url, "alice"), expect=255)
    site.settings.write_text("[[access]")
    push(hg, changed, f"{site.url}/public", *auth(site.url, "bob"))
    assert site.log().count("what it said before stays in force") == 1


# -- TLS


@dataclass
class Secure:
    site: Site
    authority: Authority
    tls: Tls

    @property
    def ca(self) -> str:
        return f"web.cacerts={self.authority.path}"


def start_secure(site: Site, authority: Authority, serve: Serve, **changes: str | int) -> Secure:
    tls = replace(authority.issue(), **changes)
    shown = "".join(
        f"{name} = {getattr(tls, name)!r}\n"
        for name in ("certificate", "key", "client_ca", "minimum", "check_seconds")
    )
    without = SETTINGS.replace('config = ["web.push_ssl=no"]\n', "")
    site.write(without + "[tls]\n" + shown)
    site.serve(serve)
    assert site.url.startswith("https://127.0.0.1:")
    # Stock clients look for no addresses in certificates, only for names.
    site.url = site.url.replace("127.0.0.1", "localhost")
    return Secure(site, authority, tls)


@pytest.fixture
def unserved(source: Source, tmp_path: Path) -> Site:
    one = Site(tmp_path / "site")
    one.take(source, "public", "private/a")
    return one


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ca")


@pytest.fixture(scope="module")
def served_securely(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """For all tests that change none of its settings."""
    site = Site(tmp_path_factory.mktemp("secure"))
    site.repos.mkdir()
    with ExitStack() as stack:

        def serve(path: Path, *options: str) -> Serving:
            return stack.enter_context(serving(path, site.folder / "server", *options))

        yield start_secure(site, Authority(site.folder / "ca"), serve)


@pytest.fixture
def secure(source: Source, served_securely: Secure, tmp_path: Path) -> Secure:
    site = served_securely.site
    one = Site(site.folder, f"{site.url}/{tmp_path.name}", site.server, tmp_path.name)
    one.take(source, "public", "private/a")
    return Secure(one, served_securely.authority, served_securely.tls)


def test_tls_with_a_private_authority(hg: Hg, secure: Secure, tmp_path: Path) -> None:
    """And a push, which `push_ssl` allows by it."""
    site = secure.site
    url, target = f"{site.url}/private/a", tmp_path / "clone"
    options = ["--config", secure.ca, *auth(site.url, "alice")]
    done = clone(hg, url, target, *auth(site.url, "alice"), expect=255)
    assert b"certificate verify failed" in done.err
    clone(hg, url, target, *options)
    change(hg, target)
    push(hg, target, url, *options)
    assert tip(site.repos / "private/a") == tip(target)


def test_tls_by_fingerprint(hg: Hg, secure: Secure, tmp_path: Path) -> None:
    end = "-----END CERTIFICATE-----"
    pem = Path(secure.tls.certificate).read_text().partition(end)[0] + end
    digest = sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    setting = f"hostsecurity.localhost:fingerprints=sha256:{digest}"
    clone(hg, f"{secure.site.url}/public", tmp_path / "clone", "--config", setting)


def test_tls_client_certificates(
    unserved: Site, authority: Authority, serve_own: Serve, tmp_path: Path
) -> None:
    one = start_secure(unserved, authority, serve_own, client_ca=str(authority.path))
    url = f"{unserved.url}/public"
    done = clone(WARM, url, tmp_path / "clone", "--config", one.ca, expect=255)
    assert b"certificate" in done.err or b"SSL" in done.err or b"reset" in done.err
    own = authority.issue_client("alice", "alice")
    words = (
        one.ca,
        f"auth.x.prefix={unserved.url.partition('://')[2]}",
        f"auth.x.cert={own.certificate}",
        f"auth.x.key={own.key}",
    )
    clone(WARM, url, tmp_path / "c2", *[part for word in words for part in ("--config", word)])


def connect(site: Site, authority: Authority, most: ssl.TLSVersion) -> bytes:
    """The certificate that a client gets, in DER."""
    host, _, port = site.url.partition("://")[2].partition(":")
    context = ssl.create_default_context(cafile=str(authority.path))
    context.maximum_version = most
    with (
        socket.create_connection((host, int(port)), timeout=30) as wire,
        context.wrap_socket(wire, server_hostname=host) as secure,
    ):
        found = secure.getpeercert(binary_form=True)
        assert found
        return found


def test_tls_versions(served_securely: Secure) -> None:
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        connect(served_securely.site, served_securely.authority, version)


def test_tls_only_the_newest(unserved: Site, authority: Authority, serve_own: Serve) -> None:
    start_secure(unserved, authority, serve_own, minimum="1.3")
    with pytest.raises(ssl.SSLError):
        connect(unserved, authority, ssl.TLSVersion.TLSv1_2)
    connect(unserved, authority, ssl.TLSVersion.TLSv1_3)


def test_tls_renewed_under_a_running_server(
    unserved: Site, authority: Authority, serve_own: Serve, tmp_path: Path
) -> None:
    one = start_secure(unserved, authority, serve_own, check_seconds=1)
    before = connect(unserved, authority, ssl.TLSVersion.TLSv1_3)
    key = Path(one.tls.key).read_bytes()
    authority.issue()
    new = Path(one.tls.key).read_bytes()
    Path(one.tls.key).write_bytes(key)  # half of the new files
    wait_for(lambda: "the certificate before stays in use" in unserved.log())
    assert unserved.server is not None
    os.kill(unserved.server.pid, signal.SIGHUP)
    assert connect(unserved, authority, ssl.TLSVersion.TLSv1_3) == before
    Path(one.tls.key).write_bytes(new)
    wait_for(lambda: connect(unserved, authority, ssl.TLSVersion.TLSv1_3) != before)
    clone(WARM, f"{unserved.url}/public", tmp_path / "clone", "--config", one.ca)


def wait_for(is_so: object, seconds: float = 60) -> None:
    assert callable(is_so)
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)
