"""Hooks of a push: what they are told, what the user is told by them, and what they can forbid."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.hg import Hg
from tests.compat.history import bookmarks, verify
from tests.compat.pushing import (
    Target,
    commit,
    hosted,
    make_repository,
    said,
    served_copies,
)
from tests.compat.rawhttp import request
from tests.compat.serving import Serve
from tests.compat.warm import WARM

Make = Callable[..., Target]

FORMS = pytest.mark.parametrize(
    "form", [(), ("devel.legacy.exchange=bundle1",)], ids=["bundle2", "bundle1"]
)


@pytest.fixture
def make(tmp_path: Path, host: Host) -> Iterator[Make]:
    """`make(hgrc)`: a repository that is served; it is looked over at the end."""
    made: list[Target] = []

    def make_one(hgrc: str) -> Target:
        made.append(hosted(host, tmp_path, hgrc))
        return made[-1]

    yield make_one
    for target in made:
        target.check()


TALKING = """[hooks]
prechangegroup = echo prechangegroup
pretxnchangegroup = printf 'gr\u00fc\u00dfe \\351\\n'; echo to stderr >&2
pretxnclose = echo pretxnclose
changegroup = echo changegroup
incoming = echo incoming $HG_NODE
txnclose = echo txnclose
pushkey = echo pushkey $HG_NAMESPACE
"""


# The stock server of these tests is a verbose one.
VERBOSE = (b"remote: running hook ", b"remote: uncompressed size of bundle content:")


@FORMS
def test_what_hooks_print_is_shown_as_the_stock_server_shows_it(
    hg: Hg, form: tuple[str, ...], tmp_path: Path, host: Host, serve_own: Serve
) -> None:
    hg = hg.with_config(*form)
    told: list[list[bytes]] = []
    repository = make_repository(tmp_path / "target", TALKING)
    source = tmp_path / "source"
    WARM("clone", "-q", repository, source)
    commit(hg, source, "three")
    hg("bookmark", "-q", "mark", cwd=source)
    for served, target in served_copies(repository, host, serve_own, tmp_path):
        done = hg.run("push", "-B", "mark", target.url, cwd=source)
        hg("phase", "--force", "--draft", "-r", "tip", cwd=source)
        verify(WARM, served)
        lines = (
            said(done).replace(target.url.encode(), b"URL").replace(b"URL/", b"URL").splitlines()
        )
        told.append(sorted(line for line in lines if not line.startswith(VERBOSE)))
    ours, theirs = told
    assert ours == theirs
    assert "remote: gr\u00fc\u00dfe ".encode() + b"\xe9" in ours
    assert b"remote: to stderr" in ours
    assert b"remote: changegroup" in ours


@FORMS
@pytest.mark.parametrize("hook", ["prechangegroup", "pretxnchangegroup", "pretxnclose"])
def test_a_hook_that_fails_forbids_the_push(
    hg: Hg, form: tuple[str, ...], hook: str, make: Make
) -> None:
    if hg.executable != WARM.executable and hook != "pretxnchangegroup":
        pytest.skip("of the server alone: one client is enough")
    target = make(f"[hooks]\n{hook}.no = echo nicht f\u00fcr dich; exit 7\n")
    hg = hg.with_config(*form)
    clone, before = target.clone(hg), target.nodes()
    commit(hg, clone, "three")
    failed = hg.run("push", cwd=clone, expect=None)
    assert failed.status in (1, 255)
    assert "remote: nicht f\u00fcr dich".encode() in said(failed)
    assert f"{hook}.no hook exited with status 7".encode() in said(failed)
    assert b"Traceback" not in said(failed)
    assert target.nodes() == before
    assert hg("log", "-r", "tip", "-T", "{phase}", cwd=clone) == b"draft"


def test_a_hook_that_fails_forbids_a_bookmark(hg: Hg, make: Make) -> None:
    target = make("[hooks]\nprepushkey.no = echo no marks here; exit 1\n")
    clone = target.clone(hg)
    hg("bookmark", "mark", cwd=clone)
    failed = hg.run("push", "-B", "mark", cwd=clone, expect=None)
    assert failed.status != 0
    assert b"remote: no marks here" in said(failed)
    assert bookmarks(WARM, target.repository) == {}


def test_hooks_run_once(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    names = ("prechangegroup", "pretxnchangegroup", "changegroup", "incoming", "txnclose")
    target = make("[hooks]\n" + "".join(f"{name} = echo {name} >> {log}\n" for name in names))
    clone = target.clone(WARM)
    commit(WARM, clone, "three")
    WARM("push", cwd=clone)
    ran = log.read_text().split()
    assert sorted(ran) == sorted(names)


ENVIRONMENT = """[hooks]
pretxnchangegroup.env = env > {log}
prepushkey.env = env > {log}
"""
NAMES = ("HG_URL", "HG_SOURCE", "REMOTE_ADDR", "REMOTE_USER", "REQUEST_METHOD", "HG_HOOKTYPE")


def environment(log: Path) -> dict[str, str]:
    pairs = dict(line.partition("=")[::2] for line in log.read_text().splitlines())
    return {name: pairs[name] for name in NAMES if name in pairs}


def test_environment_is_that_of_the_stock_server(
    tmp_path: Path, host: Host, serve_own: Serve
) -> None:
    log = tmp_path / "log"
    repository = make_repository(tmp_path / "target", ENVIRONMENT.format(log=log))
    source = tmp_path / "source"
    WARM("clone", "-q", repository, source)
    node = commit(WARM, source, "three").decode()
    found: list[list[dict[str, str]]] = []
    for _, target in served_copies(repository, host, serve_own, tmp_path):
        WARM("push", target.url, cwd=source)
        pushed = environment(log)
        query = f"?cmd=pushkey&namespace=bookmarks&key=m&old=&new={node}"
        assert target.request(query, method="POST").body.startswith(b"1\n")
        found.append([pushed, environment(log)])
        WARM("phase", "--force", "--draft", "-r", "tip", cwd=source)
    ours, theirs = found
    address = {"REMOTE_ADDR": "127.0.0.1"}  # stock tells it to hooks in Python, and behind CGI
    assert ours == [pairs | address for pairs in theirs]
    assert ours[0]["HG_URL"] == "remote:http:127.0.0.1:"
    assert ours[0]["HG_SOURCE"] == "serve"


PYTHON_HOOK = """
def tell(ui, repo, url=b"", **others):
    names = b"REMOTE_ADDR REMOTE_USER REQUEST_METHOD wsgi.url_scheme".split()
    ui.status(b"url %s\\n" % url)
    for name in names:
        ui.status(b"%s=%s\\n" % (name, ui.environ.get(name, b"-")))
"""


def test_hooks_in_python_are_told_the_same(tmp_path: Path, host: Host, serve_own: Serve) -> None:
    hook = tmp_path / "telling.py"
    hook.write_text(PYTHON_HOOK)
    hgrc = f"[hooks]\npretxnchangegroup.tell = python:{hook}:tell\n"
    repository, source = make_repository(tmp_path / "target", hgrc), tmp_path / "source"
    WARM("clone", "-q", repository, source)
    commit(WARM, source, "three")
    found = []
    for _, target in served_copies(repository, host, serve_own, tmp_path):
        lines = WARM("push", target.url, cwd=source).splitlines()
        found.append([line for line in lines if b"=" in line or b"url" in line])
        WARM("phase", "--force", "--draft", "-r", "tip", cwd=source)
    assert found[0] == found[1]
    assert b"remote: REQUEST_METHOD=POST" in found[0]


def test_the_address_behind_a_proxy_is_the_clients(tmp_path: Path, serve_own: Serve) -> None:
    log, bundle = tmp_path / "log", tmp_path / "bundle"
    repository = make_repository(tmp_path / "target", ENVIRONMENT.format(log=log))
    source = tmp_path / "source"
    WARM("clone", "-q", repository, source)
    commit(WARM, source, "three")
    WARM("bundle", "-q", "--base", "public()", "-t", "none-v1", bundle, cwd=source)
    settings = tmp_path / "settings.toml"
    settings.write_text('[server]\ntrusted_proxies = ["127.0.0.1"]\n')
    options = ("--allow-write", "anonymous", "--settings", str(settings))
    address = serve_own(repository, *options).address
    headers = {"X-Forwarded-For": "198.51.100.1, 203.0.113.7", "X-Forwarded-Proto": "https"}
    query = "/?cmd=unbundle&heads=" + b"force".hex()
    assert request(address, query, headers, "POST", bundle.read_bytes()).body.startswith(b"1\n")
    assert environment(log)["HG_URL"] == "remote:https:203.0.113.7:"
    assert environment(log)["REMOTE_ADDR"] == "203.0.113.7"


def test_pushvars_reach_hooks_where_the_server_takes_them(hg: Hg, make: Make) -> None:
    hook = "pretxnchangegroup.v = echo vars: ${HG_USERVAR_DEBUG:-none}, $HG_USERVAR_TEXT\n"
    target = make(f"[push]\npushvars.server = yes\n[hooks]\n{hook}")
    clone = target.clone(hg)
    commit(hg, clone, "three")
    words = ("--pushvars", "DEBUG=1", "--pushvars", "TEXT=gr\u00fc\u00df = $HOME")
    told = hg("push", *words, cwd=clone)
    assert "remote: vars: 1, gr\u00fc\u00df = $HOME\n".encode() in told
    commit(hg, clone, "four")
    assert b"remote: vars: none,\n" in hg("push", cwd=clone)


def test_pushvars_are_nothing_where_the_server_does_not(make: Make) -> None:
    target = make("[hooks]\npretxnchangegroup.v = echo vars: ${HG_USERVAR_DEBUG:-none}\n")
    clone = target.clone(WARM)
    commit(WARM, clone, "three")
    told = WARM.run("push", "--pushvars", "DEBUG=1", cwd=clone)
    assert b"remote: vars: none\n" in said(told)


def test_a_hook_that_sleeps_holds_nobody_up(make: Make, tmp_path: Path) -> None:
    """Readers see the state before, then the state after; another push waits for the lock."""
    awake = tmp_path / "awake"
    target = make(f"[hooks]\npretxnchangegroup = while ! test -e {awake}; do sleep 0.1; done\n")
    clone, before = target.clone(WARM), target.nodes()
    pushed = commit(WARM, clone, "three")
    pusher = threading.Thread(target=lambda: WARM("push", cwd=clone))
    pusher.start()
    lock = target.repository / ".hg/store/lock"
    wait_for(lambda: os.path.islink(lock))
    time.sleep(0.5)
    assert target.nodes() == before
    began = time.monotonic()
    for _ in range(20):
        assert target.request("?cmd=heads").body.strip() == before[-1]
    assert time.monotonic() - began < 10
    WARM("clone", "-q", "-U", target.url, tmp_path / "meanwhile")
    assert pusher.is_alive()
    awake.touch()
    pusher.join(60)
    assert target.request("?cmd=heads").body.strip() == pushed


def test_what_a_hook_leaves_in_the_background_is_not_waited_for(make: Make) -> None:
    target = make("[hooks]\nchangegroup = sleep 30 >/dev/null 2>&1 & echo started\n")
    clone = target.clone(WARM)
    commit(WARM, clone, "three")
    began = time.monotonic()
    assert b"remote: started\n" in WARM("push", cwd=clone)
    assert time.monotonic() - began < 25


def wait_for(is_so: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)
