"""Pushes that go wrong: bodies that are no bundle, clients that go, processes that are killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.hg import Finished, Hg
from tests.compat.history import verify
from tests.compat.pushing import Target, commit, hosted, make_repository, said, start
from tests.compat.rawhttp import Reply
from tests.compat.serving import Serve
from tests.compat.test_bridge_faults import bridged, children, wait_for
from tests.compat.warm import WARM

Make = Callable[..., Target]

FORCE = b"force".hex()
UNBUNDLE = f"?cmd=unbundle&heads={FORCE}"
NOISE = 3_000_000  # bytes that don't pack


@pytest.fixture
def make(tmp_path: Path, host: Host) -> Iterator[Make]:
    """`make(hgrc)`: a repository that is served; it is looked over at the end."""
    made: list[Target] = []

    def make_one(hgrc: str = "") -> Target:
        made.append(hosted(host, tmp_path, hgrc))
        return made[-1]

    yield make_one
    for target in made:
        target.check()


@pytest.fixture
def make_own(tmp_path: Path, serve_own: Serve) -> Iterator[Make]:
    """The same, with a server of its own."""
    made: list[Target] = []

    def make_one(hgrc: str = "") -> Target:
        made.append(start(make_repository(tmp_path / "target", hgrc), serve_own, tmp_path))
        return made[-1]

    yield make_one
    for target in made:
        target.check()


def with_noise(target: Target) -> Path:
    clone = target.clone(WARM)
    (clone / "noise").write_bytes(random.Random(5).randbytes(NOISE))
    commit(WARM, clone, "three")
    return clone


BUNDLES: dict[str, bytes] = {}  # all repositories here begin with the same history


def bundle(target: Target, kind: str) -> bytes:
    if kind not in BUNDLES:
        clone, path = with_noise(target), target.home / "bundle"
        WARM("bundle", "-q", "--base", "public()", "-t", kind, path, cwd=clone)
        BUNDLES[kind] = path.read_bytes()
    return BUNDLES[kind]


def push(target: Target, body: bytes, heads: str = FORCE) -> Reply:
    return target.request(f"?cmd=unbundle&heads={heads}", {}, "POST", body)


def assert_untouched(target: Target, before: list[bytes]) -> None:
    target.check()
    assert target.nodes() == before
    assert target.request("?cmd=heads").body.strip() == before[-1]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", b"stream ended unexpectedly"),
        (b"HG", b"stream ended unexpectedly"),
        (b"this is no bundle at all", b"not a Mercurial bundle"),
        (b"HG99" + bytes(8), b"unknown bundle version 99"),
        (b"HG10XX" + bytes(8), b"unknown stream compression type: XX"),
        (b"HG20\0\0\0\0\xff\xff\xff\xff" + bytes(50), b""),
        (b"HG20" + struct.pack(">i", 15) + b"Compression=XY", b""),
        (bytes(300_000), b""),
        (b"HG10GZ" + bytes(50), b"the push failed"),
        (b"HG20" + struct.pack(">i", 3) + b"%ff", b"the push failed"),
    ],
    ids=[
        "nothing",
        "two bytes",
        "text",
        "HG99",
        "HG10XX",
        "bad size",
        "bad engine",
        "zeros",
        "bad zlib",
        "bad name",
    ],
)
def test_what_is_no_bundle_is_refused_in_words(make: Make, body: bytes, words: bytes) -> None:
    target = make()
    before = target.nodes()
    reply = push(target, body)
    assert reply.status < 500, (reply, target.server.log()[-2000:])
    assert words in reply.body, reply
    assert len(reply.body) > 5
    assert_untouched(target, before)


@pytest.mark.parametrize("kind", ["none-v1", "none-v2", "zstd-v2"])
@pytest.mark.parametrize("at", [0.0, 0.3, 1.0])
def test_a_bundle_cut_short_is_refused_in_words(make: Make, kind: str, at: float) -> None:
    target = make()
    whole = bundle(target, kind)
    before = target.nodes()
    reply = push(target, whole[: max(20, int(len(whole) * at) - 10)])
    assert reply.status < 500, (reply, target.server.log()[-2000:])
    assert len(reply.body) > 5
    assert_untouched(target, before)


def test_an_unknown_mandatory_part_is_named(make: Make) -> None:
    target = make()
    before = target.nodes()
    name = b"SOMETHING"
    header = bytes([len(name)]) + name + struct.pack(">i", 0) + b"\0\0"
    part = struct.pack(">i", len(header)) + header + struct.pack(">i", 0)
    reply = push(target, b"HG20" + struct.pack(">i", 0) + part + struct.pack(">i", 0))
    assert reply.status == 200
    assert b"error:unsupportedcontent" in reply.body.lower()
    assert b"something" in reply.body
    assert_untouched(target, before)


@pytest.mark.parametrize(
    "heads", ["", "zz", "0" * 40, "hashed", "666f7263", "+".join(["0" * 40] * 900)]
)
def test_heads_that_are_not_those_of_now(make: Make, heads: str) -> None:
    target = make()
    body, before = bundle(target, "none-v2"), target.nodes()
    reply = push(target, body, heads.replace(" ", "+"))
    assert reply.status < 500, (reply, target.server.log()[-2000:])
    assert len(reply.body) > 5
    assert_untouched(target, before)


def cut(target: Target, body: bytes, sent: int) -> None:
    host, _, port = target.server.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as wire:
        where = f"{target.path}/{UNBUNDLE}"
        head = f"POST {where} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        wire.sendall(head.encode() + body[:sent])


def is_told_gone(target: Target) -> bool:
    lines = target.server.log().splitlines()
    return any(f"{target.path}/" in line and " gone " in line for line in lines)


@pytest.mark.parametrize("sent", [0, 100, 1_000_000])
def test_a_client_that_goes_in_mid_body_changes_nothing(make: Make, sent: int) -> None:
    target = make()
    body, before = bundle(target, "none-v2"), target.nodes()
    cut(target, body, sent)
    wait_for(lambda: [1] if is_told_gone(target) else [])
    assert_untouched(target, before)
    assert push(target, body).status == 200
    assert len(target.nodes()) == 3


def test_two_pushers_at_once_the_second_is_told(hg: Hg, make: Make) -> None:
    """The other one pushes after this one has seen what is there."""
    target = make()
    one, two = target.clone(hg), target.clone(hg, "two")
    commit(hg, one, "mine")
    theirs = commit(hg, two, "theirs")
    hook = f"hooks.preoutgoing.race={hg.executable} -R {two} push -q"
    failed = hg.with_config(hook).run("push", cwd=one, expect=None)
    assert failed.status == 255
    assert b"push failed:" in said(failed) or b"please try again" in said(failed), said(failed)
    assert b"Traceback" not in said(failed)
    assert target.nodes()[-1] == theirs
    assert len(target.nodes()) == 3
    hg("pull", "-q", cwd=one)
    hg("push", "--force", cwd=one)
    assert len(target.nodes()) == 4


def test_a_race_that_touches_nothing_of_ours_is_none(make: Make) -> None:
    """`checkheads-strict = no`: two branches may grow at once."""
    target = make("[server]\nconcurrent-push-mode = check-related\n")
    one, two = target.clone(WARM), target.clone(WARM, "two")
    WARM("branch", "-q", "other", cwd=two)
    commit(WARM, one, "mine")
    commit(WARM, two, "theirs")
    hook = f"hooks.preoutgoing.race={WARM.executable} -R {two} push -q --new-branch"
    WARM.with_config(hook)("push", cwd=one)
    assert len(target.nodes()) == 4


def test_many_pushers_at_once(make: Make) -> None:
    """Each heads its own branch; all of them get in, some after they were told to try again."""
    target = make("[server]\nconcurrent-push-mode = check-related\n")
    clones = [target.clone(WARM, f"clone-{number}") for number in range(4)]
    for number, clone in enumerate(clones):
        WARM("branch", "-q", f"branch-{number}", cwd=clone)
        commit(WARM, clone, f"of-{number}")
    done: list[Finished] = []

    def run(clone: Path) -> None:
        done.append(WARM.run("push", "--new-branch", cwd=clone, expect=None))

    pushers = [threading.Thread(target=run, args=(clone,)) for clone in clones]
    for pusher in pushers:
        pusher.start()
    for pusher in pushers:
        pusher.join()
    assert [one.status for one in done] == [0, 0, 0, 0], [said(one) for one in done]
    assert len(target.nodes()) == 6


SLOW = "[hooks]\npretxnchangegroup.slow = touch {mark}; while ! test -e {go}; do sleep 0.1; done\n"


class Slow:
    """A push whose hook waits, in the middle of its transaction, for `go`."""

    def __init__(self, make: Make, home: Path) -> None:
        self.mark, self.go = home / "mark", home / "go"
        self.target = make(SLOW.format(mark=self.mark, go=self.go))
        self.before = self.target.nodes()
        self.clone = with_noise(self.target)
        self.done: list[Finished] = []
        self._pusher = threading.Thread(target=self._push)

    def _push(self) -> None:
        self.done.append(WARM.run("push", cwd=self.clone, expect=None))

    def __enter__(self) -> Slow:
        self._pusher.start()
        wait_for(lambda: [1] if self.mark.exists() else [])
        return self

    def __exit__(self, *_: object) -> None:
        self.go.touch()
        self._pusher.join(60)

    def finish(self) -> Finished:
        self.__exit__()
        return self.done[0]

    def push_again(self) -> None:
        WARM("push", cwd=self.clone)
        assert len(self.target.nodes()) == len(self.before) + 1


def test_hg_killed_in_mid_push_is_recovered_from_by_the_next_push(
    make_own: Make, tmp_path: Path
) -> None:
    """Until then readers see the state before, and `hg recover` would do it, too."""
    with Slow(make_own, tmp_path) as slow:
        for pid in bridged(slow.target.server):
            os.kill(pid, signal.SIGKILL)
        failed = slow.finish()
    assert failed.status == 255
    assert b"Traceback" not in said(failed)
    target = slow.target
    assert (target.repository / ".hg/store/journal").exists()
    assert target.request("?cmd=heads").body.strip() == slow.before[-1]
    WARM("clone", "-q", target.url, tmp_path / "reader")
    verify(WARM, tmp_path / "reader")
    slow.push_again()
    target.check()
    target.server.await_log("what was left of an interrupted push is undone")


def test_hg_killed_in_mid_push_is_recovered_from_by_hg_recover(
    make_own: Make, tmp_path: Path
) -> None:
    with Slow(make_own, tmp_path) as slow:
        for pid in bridged(slow.target.server):
            os.kill(pid, signal.SIGKILL)
        slow.finish()
    WARM("recover", cwd=slow.target.repository)
    assert_untouched(slow.target, slow.before)
    slow.push_again()


def test_a_worker_killed_in_mid_body_leaves_nothing(make_own: Make, tmp_path: Path) -> None:
    target = make_own()
    body, before = bundle(target, "none-v2"), target.nodes()
    host, _, port = target.server.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as wire:
        where = f"{target.path}/{UNBUNDLE}"
        head = f"POST {where} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        wire.sendall(head.encode() + body[:2_000_000])
        (hg,) = wait_for(lambda: bridged(target.server)[:1])
        kill_worker(target)
        wait_for(lambda: [] if is_alive(hg) else [1])
    wait_for(lambda: [1] if answers(target) else [])
    assert_untouched(target, before)
    assert push(target, body).status == 200


def test_a_worker_killed_while_hooks_run_leaves_all_or_nothing(
    make_own: Make, tmp_path: Path
) -> None:
    with Slow(make_own, tmp_path) as slow:
        kill_worker(slow.target)
        failed = slow.finish()
    assert failed.status == 255
    target = slow.target
    wait_for(lambda: [] if is_locked(target) else [1])
    wait_for(lambda: [1] if answers(target) else [])
    target.check()
    if target.nodes() == slow.before:
        slow.push_again()
    else:
        WARM.run("push", cwd=slow.clone, expect=1)
        assert len(target.nodes()) == len(slow.before) + 1


def kill_worker(target: Target) -> None:
    """The one that has the bridge's processes for children."""
    hgs = bridged(target.server)
    parents = {
        int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in hgs
    }
    (worker,) = parents
    assert worker in children(target.server.pid, "")
    os.kill(worker, signal.SIGKILL)


def is_locked(target: Target) -> bool:
    return (target.repository / ".hg/store/lock").is_symlink()


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def answers(target: Target) -> bool:
    try:
        return target.request("?cmd=heads").status == 200
    except OSError:
        return False


def test_memory_stays_while_a_large_push_comes(make_own: Make) -> None:
    target = make_own()
    clone = target.clone(WARM)
    noise = random.Random(6)
    for number in range(8):
        (clone / f"noise-{number}").write_bytes(noise.randbytes(8_000_000))
    WARM("commit", "-q", "-A", "-m", "noise", "-d", "0 0", cwd=clone)
    workers = children(target.server.pid, "")
    before = sum(peak(pid) for pid in workers)
    WARM("push", cwd=clone)
    grown = sum(peak(pid) for pid in workers) - before
    assert grown < 24_000_000, grown


def peak(pid: int) -> int:
    """Units: bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (found,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(found.split()[1]) * 1024
