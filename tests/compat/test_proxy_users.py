"""nginx asks for passwords and names the user, as in docs/operations.md."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha1
from pathlib import Path

import pytest
from tests.compat.hg import Hg
from tests.compat.nginx import AROUND
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.compat.svn.apache import free_port
from tests.compat.test_access import PASSWORDS, auth, change, clone, push, tip

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
SERVER = """\
server {{
    listen 127.0.0.1:{port};
    location / {{
        proxy_pass {url};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Proto https;
        proxy_buffering off;
        proxy_request_buffering off;
        client_max_body_size 0;
        {login}
        proxy_set_header Authorization "";
        proxy_set_header X-Remote-User $remote_user;
    }}
}}
"""
ASK = """\
auth_basic "Mercurial";
auth_basic_user_file {folder}/users;
"""
SETTINGS = """\
[server]
trusted_proxies = ["127.0.0.1"]
[auth]
user_header = "X-Remote-User"
[[access]]
read = ["{readers}"]
write = ["alice"]
"""


def password_line(login: tuple[str, str]) -> str:
    user, password = login
    return f"{user}:{{SHA}}{b64encode(sha1(password.encode()).digest()).decode()}\n"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as one:
        yield one


def start_nginx(stack: ExitStack, folder: Path, url: str, login: str) -> str:
    """Its URL."""
    assert NGINX is not None
    folder.mkdir()
    port = free_port()
    (folder / "users").write_text("".join(map(password_line, PASSWORDS.items())))
    login = login.format(folder=folder)
    user = "user root;" if os.geteuid() == 0 else ""  # else it can't read what is root's
    server = SERVER.format(port=port, url=url, login=login)
    text = AROUND.format(user=user, folder=folder, text=server)
    (folder / "nginx.conf").write_text(text)
    command = [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    nginx = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    stack.callback(nginx.wait)
    stack.callback(nginx.terminate)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}"
        time.sleep(0.05)
    raise AssertionError((folder / "error.log").read_text())


@pytest.mark.skipif(NGINX is None, reason="no nginx here")
@pytest.mark.parametrize(
    ("login", "readers"),
    [(ASK, "*"), (f"limit_except GET HEAD {{{{ {ASK} }}}}", "anonymous")],
    ids=["for everything", "for pushes"],
)
def test_users_of_nginx(
    hg: Hg,
    login: str,
    readers: str,
    writable: Source,
    serve_own: Serve,
    stack: ExitStack,
    tmp_path: Path,
) -> None:
    repository = writable("rich")
    hook = tmp_path / "hook"
    with (repository / ".hg" / "hgrc").open("a") as file:
        file.write(f"\n[hooks]\nchangegroup = echo $REMOTE_USER > {hook}\n")
    settings = tmp_path / "s.toml"
    settings.write_text(SETTINGS.format(readers=readers))
    server = serve_own(repository, "--settings", str(settings))
    url = start_nginx(stack, tmp_path / "nginx", server.url, login)
    target = tmp_path / "clone"
    done = clone(hg, url, target, expect=None)
    if readers == "*":
        assert b"http authorization required" in done.err
        clone(hg, url, target, *auth(url, "bob"))
    change(hg, target)
    assert push(hg, target, url, expect=255).status == 255
    push(hg, target, url, *auth(url, "bob"), expect=255)
    assert tip(repository) != tip(target)
    push(hg, target, url, *auth(url, "alice"))
    assert tip(repository) == tip(target)
    assert hook.read_text().strip() == "alice"
    assert any(" alice " in line and "unbundle" in line for line in server.log().splitlines())
