"""Behind nginx, Apache and Caddy, by the very texts of docs/operations.md."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.compat import nginx
from tests.compat.pushing import said
from tests.compat.serving import serving
from tests.compat.svn.apache import ACCOUNT, free_port
from tests.compat.test_access import SETTINGS, Site, auth
from tests.compat.warm import WARM
from tests.unit.http.certificates import Authority

PATH = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"
DOCS = (Path(__file__).parents[2] / "docs/operations.md").read_text()
OURS = 'trusted_proxies = ["127.0.0.1"]\n'
BIG = bytes(range(256)) * 400
IS_ROOT = os.geteuid() == 0
START_SECONDS = 30

APACHE = """\
ServerRoot /usr/lib/apache2
ServerName localhost
PidFile {folder}/pid
ErrorLog {folder}/error.log
Mutex file:{folder} default
Listen 127.0.0.1:{port}
{user}
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule headers_module modules/mod_headers.so
LoadModule proxy_module modules/mod_proxy.so
LoadModule proxy_http_module modules/mod_proxy_http.so
LoadModule ssl_module modules/mod_ssl.so
{text}
"""
CADDY = """\
{{
    admin off
    auto_https off
    storage file_system {folder}/caddy
}}
{text}
"""


def text_of(language: str, word: str = "") -> str:
    """The first block of the language with the word in it."""
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE)
    return next(block for block in blocks if word in block)


def nginx_text() -> str:
    """Also below a path: that block's lines before those of `location /`."""
    text, below = text_of("nginx", "ssl_certificate"), text_of("nginx", "location /hg/")
    lines = text.partition("location / {")[2].partition("}")[0].splitlines()
    more = [line for line in lines if "Prefix" not in line and "proxy_pass " not in line]
    end = text.rindex("}")
    return text[:end] + below.rstrip().removesuffix("}") + "\n".join(more) + "\n}\n" + text[end:]


@dataclass(frozen=True)
class Proxy:
    """`around`: what stands around the text of the docs. `prefixes` that it takes off."""

    name: str
    program: str
    around: str
    text: Callable[[], str]
    listens: str
    options: Callable[[Path], list[str]]
    account: str = ""
    prefixes: tuple[str, ...] = ("",)

    @property
    def path(self) -> str | None:
        return shutil.which(self.program, path=PATH)


PROXIES = (
    Proxy(
        "nginx",
        "nginx",
        nginx.AROUND,
        nginx_text,
        "listen 443",
        lambda file: ["-p", str(file.parent), "-c", str(file)],
        "user root;",
        ("", "/hg"),
    ),
    Proxy(
        "apache",
        "apache2",
        APACHE,
        lambda: text_of("apache"),
        "<VirtualHost *:443",
        lambda file: ["-DFOREGROUND", "-f", str(file)],
        f"User {ACCOUNT}\nGroup {ACCOUNT}",
    ),
    Proxy(
        "caddy",
        "caddy",
        CADDY,
        lambda: text_of("caddy"),
        "hg.example.org {",
        lambda file: ["run", "--adapter", "caddyfile", "--config", str(file)],
    ),
)


def configured(proxy: Proxy, folder: Path, port: int, upstream: str, authority: Authority) -> str:
    """The docs' text with addresses and files of here."""
    tls = authority.issue()
    listens = {
        "listen 443": f"listen 127.0.0.1:{port}",
        "<VirtualHost *:443": f"<VirtualHost *:{port}",
        "hg.example.org {": f"https://localhost:{port} {{\n tls {tls.certificate} {tls.key}\n",
    }
    text = proxy.text()
    assert proxy.listens in text
    assert "127.0.0.1:8000" in text
    for old, new in (
        (proxy.listens, listens[proxy.listens]),
        ("127.0.0.1:8000", upstream),
        ("/etc/ssl/certs/hg.example.org.pem", tls.certificate),
        ("/etc/ssl/private/hg.example.org.key", tls.key),
        ("hg.example.org", "localhost"),
    ):
        text = text.replace(old, new)
    user = proxy.account if IS_ROOT else ""
    return proxy.around.format(folder=folder, port=port, user=user, text=text)


@dataclass(frozen=True)
class Behind:
    site: Site
    proxy: Proxy
    url: str
    ca: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`private/large`, which alice writes and bob reads. Pushes need TLS, as by default."""
    one = Site(tmp_path_factory.mktemp("proxied"))
    repository = one.folder / "repos/private/large"
    repository.parent.mkdir(parents=True)
    WARM("init", repository)
    cache = one.folder / "servers-cache"
    hgrc = f"[extensions]\nlfs =\n[lfs]\ntrack = all()\nusercache = {cache}\n"
    (repository / ".hg/hgrc").write_text(hgrc)
    (repository / "big").write_bytes(BIG)
    WARM("commit", "-q", "-A", "-m", "big", "-d", "0 0", cwd=repository)
    plain = SETTINGS.replace('config = ["web.push_ssl=no"]\n', "")
    one.write(plain.replace("[auth]\n", f"[server]\n{OURS}[auth]\n"))
    with serving(one.repos, one.folder / "server", "--settings", str(one.settings)) as server:
        one.server, one.url = server, server.url
        yield one


@pytest.fixture(params=PROXIES, ids=lambda proxy: proxy.name)
def behind(request: pytest.FixtureRequest, site: Site, tmp_path: Path) -> Iterator[Behind]:
    proxy: Proxy = request.param
    if proxy.path is None:
        pytest.skip(f"no {proxy.program} here")
    assert site.server is not None
    authority, port = Authority(tmp_path / "ca"), free_port()
    text = configured(proxy, tmp_path, port, site.server.address, authority)
    file = tmp_path / "configuration"
    file.write_text(text)
    if IS_ROOT and "User " in proxy.account:
        shutil.chown(tmp_path, ACCOUNT)
    home = {"PATH": PATH, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    log = (tmp_path / "output").open("wb")
    process = subprocess.Popen([proxy.path, *proxy.options(file)], env=home, stdout=log, stderr=log)
    try:
        wait_for(process, port, tmp_path)
        yield Behind(site, proxy, f"https://localhost:{port}", f"web.cacerts={authority.path}")
    finally:
        process.terminate()
        process.wait(START_SECONDS)
        log.close()


def wait_for(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError((folder / "output").read_text())


def test_clone_and_push_of_large_files_go_through(behind: Behind, tmp_path: Path) -> None:
    """Of which the contents come from URLs that the server has written."""
    site = behind.site
    for place, prefix in enumerate(behind.proxy.prefixes):
        url, target = f"{behind.url}{prefix}/private/large", tmp_path / f"clone-{place}"
        hg = WARM.with_config(
            "extensions.lfs=",
            "lfs.track=all()",
            f"lfs.usercache={target}-cache",
            behind.ca,
        )
        hg("clone", "--noninteractive", url, target, *auth(url, "bob"))
        assert (target / "big").read_bytes() == BIG
        data = BIG + f"{behind.proxy.name}{prefix}".encode()
        (target / "big").write_bytes(data)
        hg("commit", "-q", "-m", "more", "-d", "0 0", cwd=target)
        push = ("push", "--noninteractive", url)
        failed = hg.run(*push, *auth(url, "bob"), cwd=target, expect=None)
        assert b"403" in said(failed), failed
        hg(*push, *auth(url, "alice"), cwd=target)
        name = hashlib.sha256(data).hexdigest()
        objects = site.repos / "private/large/.hg/store/lfs/objects"
        assert (objects / name[:2] / name[2:]).read_bytes() == data
        (target / "big").write_bytes(BIG)
        hg("commit", "-q", "-m", "back", "-d", "0 0", cwd=target)
        hg(*push, *auth(url, "alice"), cwd=target)
    assert site.server is not None
    site.server.check_log()
