"""Whoever goes away at whichever step of a commit through the gateway: nothing is half committed,
nothing twice, the user is told, and the next commit works.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.compat.svn.around import AS_USER, KINDS, LoggedIn, Yard, transactions, use_proxy
from tests.compat.svn.fragile import Fragile, fragile
from tests.compat.svn.gateway import Running, gateway

WAIT_SECONDS = 20
# (word of a request, how): those that the way to an upstream never asks for are committed.
STEPS = [
    (b"POST /", "before"),
    (b"POST /", "after"),
    (b"MKCOL /", "before"),
    (b"COPY /", "before"),
    (b"PROPPATCH /", "after"),
    (b"DELETE /", "before"),
    (b"PUT /", "before"),
    (b"PUT /", "after"),
]
START = (
    "svn checkout -q $U wc && cd wc && mkdir a && echo 0 >a/f && cp a/f a/g && cp a/f gone-0"
    " && svn add -q a gone-0 && svn commit -q -m start && svn update -q"
)
# One of all there is; `$N` is new each time.
CHANGE = (
    "cd wc && svn copy -q a a$N && mkdir m$N && echo $N >m$N/f && svn add -q m$N"
    " && echo $N >>a/f && svn propset -q p $N a/g && echo $N >gone-$N && svn add -q gone-$N"
    " && svn rm -q gone-$((N-1))"
)


@dataclass(frozen=True)
class Step:
    """A repository whose server can go away, and how often it was committed to."""

    site: LoggedIn
    server: Fragile

    def youngest(self) -> int:
        return int((self.site.disk / "db" / "current").read_text().split()[0])

    def begin(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-c", AS_USER + "cd wc; " + command],
            cwd=self.site.folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.site.folder), "LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@dataclass(frozen=True)
class Places:
    gateway: Running
    steps: dict[str, Step]


@pytest.fixture
def places(gateway_yard: Yard, tmp_path: Path) -> Iterator[Places]:
    """One gateway of its own, with a server of each kind that can go away."""
    with ExitStack() as stack:
        around = stack.enter_context(gateway_yard.around(tmp_path))
        servers = {
            kind: stack.enter_context(fragile(urlsplit(gateway_yard.urls[kind]).port or 0))
            for kind in KINDS
        }
        urls = [f"http://127.0.0.1:{server.port}" for server in servers.values()]
        running = stack.enter_context(gateway(*urls))
        steps = {}
        for kind, site in around.through.items():
            parts = urlsplit(site.url)
            site.url = f"http://127.0.0.1:{servers[kind].port}{parts.path}"
            use_proxy(site, running.port)
            site.run(START, expect_ok=True)
            steps[kind] = Step(site, servers[kind])
        yield Places(running, steps)


def wait_until_clean(site: LoggedIn) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while transactions(site):
        assert time.monotonic() < until
        time.sleep(0.02)


def try_each_step(step: Step) -> list[str]:
    """What went wrong."""
    wrong = []
    for number, (word, how) in enumerate(STEPS, 1):
        before = step.youngest()
        step.site.run(f"N={number}; {CHANGE}", expect_ok=True)
        step.server.arm(word, how)
        said = step.site.run("cd wc && svn commit -q -m lost")
        has_fired = step.server.fired.is_set()
        step.server.revive()
        told = any("E175002" in line or "E120" in line for line in said.lines)
        after = step.youngest()
        again = step.site.run("cd wc && svn commit -q -m again; svn update -q && svn status")
        if has_fired and (said.status == 0 or not told or after != before):
            wrong.append(f"{word!r} {how}: {said} r{before} r{after}")
        if again.lines or step.youngest() != before + 1:
            wrong.append(f"{word!r} {how}, the next commit: {again} {step.youngest()}")
    return wrong


def test_an_upstream_killed_at_each_step(places: Places) -> None:
    with ThreadPoolExecutor(len(KINDS)) as pool:
        assert list(pool.map(try_each_step, places.steps.values())) == [[], []]
    for step in places.steps.values():
        step.site.verify()


def try_merge(step: Step) -> list[str]:
    for number, how in enumerate(("before", "after"), 1):
        before = step.youngest()
        step.site.run(f"N={number}; {CHANGE}", expect_ok=True)
        step.server.arm(b"MERGE /", how)
        begun = step.begin("svn commit -m once")
        while not step.server.fired.wait(0.02) and begun.poll() is None:
            pass
        step.server.revive()
        said = begun.communicate(timeout=60)[0]
        if f"Committed revision {before + 1}." not in said or step.youngest() != before + 1:
            return [f"{how}: {said}, r{step.youngest()}"]
        step.site.run("cd wc && svn update -q", expect_ok=True)
    return []


def test_an_upstream_that_is_back_soon_after_it_was_killed_at_merge(places: Places) -> None:
    with ThreadPoolExecutor(len(KINDS)) as pool:
        assert list(pool.map(try_merge, places.steps.values())) == [[], []]


def test_a_connection_lost_with_an_answer(places: Places) -> None:
    """What had arrived by then comes twice, and isn't taken for somebody else's."""
    step = places.steps["apache"]
    for number, word in enumerate((b"MKCOL /", b"PUT /", b"DELETE /", b"COPY /"), 1):
        step.site.run(f"N={number}; {CHANGE}", expect_ok=True)
        step.server.arm(word, "blink")
        said = step.site.run("cd wc && svn commit -m once")
        assert step.server.fired.is_set()
        step.server.revive()
        assert f"Committed revision {number + 1}." in said.lines, (word, said)
        assert step.site.run("cd wc && svn update -q && svn status").lines == []


def test_a_client_killed_in_mid_commit(places: Places) -> None:
    for step in places.steps.values():
        stall(step)
        login = "--username alice --password 'sec ret' --non-interactive --no-auth-cache"
        begun = step.begin(f"exec svn commit -q -m m {login}")  # the process itself, not a shell's
        assert step.server.fired.wait(WAIT_SECONDS)
        begun.kill()
        begun.wait()
        step.server.revive()
        wait_until_clean(step.site)
        assert step.youngest() == 1
        step.site.run("cd wc && svn cleanup && svn commit -q -m again", expect_ok=True)
        assert step.youngest() == 2
        step.site.verify()


def stall(step: Step) -> None:
    """The next commit stops in the midst of a large file."""
    step.site.run("cd wc && head -c 3000000 /dev/urandom >big && svn add -q big", expect_ok=True)
    step.server.arm(b"P", "stall")  # POST or PUT, whatever comes first


def test_a_gateway_killed_and_restarted_in_mid_commit(places: Places) -> None:
    steps = places.steps.values()
    urls = [f"http://127.0.0.1:{step.server.port}" for step in steps]
    with gateway(*urls) as first:
        begun = []
        for step in steps:
            use_proxy(step.site, first.port)
            stall(step)
            begun.append(step.begin("svn commit -q -m m"))
            assert step.server.fired.wait(WAIT_SECONDS)
        first.process.kill()
        for one in begun:
            assert "svn: E" in one.communicate(timeout=60)[0]
            assert one.returncode == 1
    for step in steps:
        step.server.revive()
    with gateway(*urls, port=first.port):
        for step in steps:
            step.site.run("cd wc && svn commit -q -m again", expect_ok=True)
            assert step.youngest() == 2
            step.site.verify()


def test_two_users_through_one_gateway(gateway_yard: Yard, tmp_path: Path) -> None:
    """At once, each by own name; and who hasn't the right password gets nowhere, also after those
    who have."""
    with gateway_yard.around(tmp_path) as around:
        for kind, site in around.through.items():
            site.run("svn mkdir -q -m m $U/alice $U/bob", expect_ok=True)

            def commit(user: str, site: LoggedIn = site) -> None:
                site.run(
                    f"export W={user}; svn checkout -q $U/$W $W && cd $W && for i in 1 2 3 4; do"
                    " echo $i >f$i; svn add -q f$i; svn commit -q -m $W || exit 1; done",
                    expect_ok=True,
                )

            with ThreadPoolExecutor(2) as pool:
                list(pool.map(commit, ("alice", "bob")))
            said = site.run(
                "svn log -q $U | cut -d'|' -f2 | grep -v -- - | sort | uniq -c", expect_ok=True
            )
            assert [line.split() for line in said.lines] == [["4", "bob"], ["5", "alice"]], kind
            said = site.run("cd bob && echo no >>f1 && W=mallory svn commit -m 'not him'")
            assert said.status == 1
            assert any("E170001" in line or "E215004" in line for line in said.lines), said
            said = site.run("cd bob && W=bob svn commit -m 'him' && W=mallory svn mkdir -m m $U/x")
            assert "Committed revision 10." in said.lines, said
            assert said.status == 1
            assert transactions(site) == []
            site.verify()
