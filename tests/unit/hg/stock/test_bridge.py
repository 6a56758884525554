from __future__ import annotations

import hashlib
import io
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mercurial import bundle2, hg, ui

from trunkline.errors import ClientGone, PeerError, StoreError
from trunkline.hg.stock import bridge as bridge_module
from trunkline.hg.stock.bridge import Blocks, Bridge
from trunkline.hg.stock.caller import Caller
from trunkline.hg.stock.pool import Limits, Pool
from trunkline.reply import Bytes, Stream
from trunkline.work import Work

from .conftest import Repository

NULL = b"0" * 40
CAPS = b"HG20,bundle2=HG20%0Achangegroup%3D01%2C02%2C03"
ANN = Caller("ann", "192.0.2.7", "http", b"0.1 0.2 comp=zstd,zlib,none partial-pull")


def pull(heads: list[bytes], common: bytes = NULL, **more: bytes) -> dict[bytes, bytes]:
    arguments = {b"heads": b" ".join(heads), b"common": common, b"bundlecaps": CAPS}
    return arguments | {name.encode(): value for name, value in more.items()}


def nodes_in(bundle: bytes, folder: Path, *config: str) -> list[bytes]:
    """Changesets that stock `hg` has after it was given a bundle and nothing else."""
    reader = Repository(folder / "reader", *config)
    (folder / "bundle").write_bytes(bundle)
    reader.hg("unbundle", "-q", str(folder / "bundle"))
    return reader.hg("log", "-r", "all()", "-T", "{node}\n").split()


@pytest.fixture
def bridge(repository: Repository, pool: Pool) -> Bridge:
    return Bridge(str(repository.root), (), pool)


# Reading


def test_answers_are_those_of_the_repository(repository: Repository, bridge: Bridge) -> None:
    first = repository.commit("a")
    repository.hg("bookmark", "m\u00e4rz")
    second = repository.commit("b")
    assert bridge.call(b"heads", {}) == second + b"\n"
    assert bridge.call(b"lookup", {b"key": b"tip"}) == b"1 " + second + b"\n"
    assert bridge.call(b"lookup", {b"key": "m\u00e4rz".encode()}) == b"1 " + second + b"\n"
    assert bridge.call(b"lookup", {b"key": b"nope"}).startswith(b"0 unknown revision")
    assert bridge.call(b"known", {b"nodes": first + b" " + b"1" * 40}) == b"10"
    assert bridge.call(b"branchmap", {}) == b"default " + second
    assert bridge.call(b"listkeys", {b"namespace": b"bookmarks"}) == (
        "m\u00e4rz\t".encode() + second
    )
    assert bridge.call(b"between", {b"pairs": second + b"-" + NULL}) == first + b"\n"
    assert bridge.call(b"batch", {b"cmds": b"heads ;known nodes=" + first}) == (second + b"\n;1")
    assert bridge.call(b"clonebundles", {}) == b""
    assert bridge.call(b"debugwireargs", {b"one": b"x y", b"two": b"\xff"}) == (
        b"x y \xff None None None"
    )
    capabilities = bridge.capabilities()
    assert {b"getbundle", b"lookup", b"unbundlehash"} <= set(capabilities)
    assert not any(b"trunkline" in word for word in capabilities)
    assert bridge.commands()[b"pushkey"].permission == b"push"
    assert b"trunkline" not in bridge.commands()


def test_getbundle_and_stream_out(repository: Repository, bridge: Bridge, tmp_path: Path) -> None:
    nodes = [repository.commit("a"), repository.commit("b")]
    bundle = b"".join(bridge.stream(b"getbundle", pull(nodes[1:])))
    assert nodes_in(bundle, tmp_path) == nodes
    streamed = b"".join(bridge.stream(b"stream_out", {}))
    assert streamed.startswith(b"0\n5 ")
    assert b"\ndata/a.i\0" in streamed


def test_a_long_stream_comes_in_blocks(
    repository: Repository, bridge: Bridge, tmp_path: Path
) -> None:
    (repository.root / "big").write_bytes(os.urandom(3_000_000))
    head = repository.commit("a")
    blocks = list(bridge.stream(b"getbundle", pull([head])))
    assert {len(block) for block in blocks[:-1]} == {bridge_module.BLOCK_SIZE}
    assert len(blocks) > 10
    assert nodes_in(b"".join(blocks), tmp_path) == [head]


def test_no_answer_is_stale_whatever_others_do(repository: Repository, bridge: Bridge) -> None:
    assert bridge.call(b"heads", {}) == NULL + b"\n"
    first = repository.commit("a")
    assert bridge.call(b"heads", {}) == first + b"\n"
    second = repository.commit("b")
    repository.hg("bookmark", "-r", "0", "mark")
    assert bridge.call(b"heads", {}) == second + b"\n"
    assert bridge.call(b"lookup", {b"key": b"mark"}) == b"1 " + first + b"\n"
    repository.hg("phase", "--force", "--secret", "-r", "1")
    assert bridge.call(b"heads", {}) == first + b"\n"
    repository.hg("phase", "--draft", "-r", "1")
    assert bridge.call(b"heads", {}) == second + b"\n"
    repository.hg("--config", "extensions.strip=", "strip", "--no-backup", "-r", "1")
    assert bridge.call(b"heads", {}) == first + b"\n"
    repository.hg("tag", "--local", "-r", "0", "local")
    assert bridge.call(b"lookup", {b"key": b"local"}) == b"1 " + first + b"\n"
    third = repository.commit("c")
    repository.hg(
        "--config", "experimental.evolution=all", "debugobsolete", third.decode(), "-d", "0 0"
    )
    repository.hg("update", "-q", "0")
    assert bridge.call(b"heads", {}) == first + b"\n"


def test_one_process_answered_all_of_it(repository: Repository, bridge: Bridge) -> None:
    bridge.call(b"heads", {})
    pids = bridge._pool.pids
    repository.commit("a")
    bridge.call(b"heads", {})
    assert bridge._pool.pids == pids
    assert len(pids) == 1


def test_overrides_reach_mercurial(repository: Repository, pool: Pool) -> None:
    repository.configure("[server]\nuncompressed = yes\n")
    plain = Bridge(str(repository.root), [], pool).capabilities()
    other = Bridge(str(repository.root), ["server.uncompressed=no"], pool).capabilities()
    assert any(word.startswith(b"streamreqs=") for word in plain)
    assert not any(word.startswith(b"streamreqs=") for word in other)


def test_faults_of_the_peer_are_told_to_it_and_cost_no_process(
    repository: Repository, bridge: Bridge
) -> None:
    bridge.call(b"heads", {})
    pids = bridge._pool.pids
    for command, arguments in (
        (b"no-such", {}),
        (b"lookup", {}),
        (b"trunkline", {b"url": b"x"}),
        (b"getbundle", {b"a\nb": b""}),
    ):
        with pytest.raises(PeerError):
            bridge.call(command, arguments)
    assert bridge._pool.pids == pids
    with pytest.raises(PeerError, match="unknown revision"):
        bridge.call(b"branches", {b"nodes": b"1" * 40})
    assert bridge.call(b"heads", {}) == NULL + b"\n"


@pytest.mark.parametrize(
    "config",
    [
        "experimental.treemanifest=1",
        "format.exp-use-changelog-v2=enable-unstable-format-and-corrupt-my-data",
        "experimental.narrow=true",
    ],
)
def test_formats_that_only_mercurial_reads(tmp_path: Path, pool: Pool, config: str) -> None:
    repository = Repository(tmp_path / "repository", config)
    nodes = [repository.commit("sub/a"), repository.commit("sub/deep/b")]
    bridge = Bridge(str(repository.root), [], pool)
    capabilities = bridge.call(b"capabilities", {})
    bundle = b"".join(bridge.stream(b"getbundle", pull(nodes[1:])))
    assert b"getbundle" in capabilities
    assert nodes_in(bundle, tmp_path, config) == nodes


# Hooks of reading


def test_read_hooks_run_once_for_each_pull_and_know_who_asks(
    repository: Repository, bridge: Bridge, tmp_path: Path
) -> None:
    head = repository.commit("a")
    log = tmp_path / "log"
    repository.configure(
        "[hooks]\n"
        f"outgoing = echo outgoing $HG_SOURCE $REMOTE_USER $REMOTE_ADDR >> {log}\n"
        f"preoutgoing.x = echo preoutgoing $HG_SOURCE >> {log}\n"
        f"listkeys = echo listkeys $HG_NAMESPACE >> {log}\n"
    )
    for _ in range(2):
        assert b"".join(bridge.stream(b"getbundle", pull([head]), ANN))
        assert log.read_text().splitlines() == [
            "preoutgoing serve",
            "outgoing serve ann 192.0.2.7",
        ]
        log.unlink()
    bridge.call(b"listkeys", {b"namespace": b"phases"}, ANN)
    assert log.read_text() == "listkeys phases\n"
    log.unlink()
    assert b"".join(bridge.stream(b"getbundle", pull([head])))
    assert log.read_text().splitlines()[1] == "outgoing serve"  # nobody's name is left behind


def test_a_read_hook_that_forbids_is_told_to_the_peer(
    repository: Repository, bridge: Bridge
) -> None:
    head = repository.commit("a")
    repository.configure("[hooks]\npreoutgoing = false\nprelistkeys = exit 3\n")
    bundle = b"".join(bridge.stream(b"getbundle", pull([head])))
    assert b"error:abort" in bundle.lower()
    with pytest.raises(PeerError, match="preoutgoing hook exited with status 1") as error:
        bridge.stream(b"getbundle", pull([head]) | {b"bundlecaps": b""})
    assert error.value.status == 400
    with pytest.raises(PeerError, match="prelistkeys hook exited with status 3"):
        bridge.call(b"listkeys", {b"namespace": b"phases"})


# Broken in the middle


def test_a_process_that_dies_in_the_middle_breaks_the_stream(
    repository: Repository, bridge: Bridge
) -> None:
    (repository.root / "big").write_bytes(os.urandom(4_000_000))
    head = repository.commit("a")
    blocks = bridge.stream(b"getbundle", pull([head]))
    assert next(blocks)
    assert isinstance(blocks, Blocks)
    assert blocks._server is not None
    pid = blocks._server.process.pid
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(StoreError, match="status -9"):
        list(blocks)
    assert pid not in bridge._pool.pids
    assert bridge.call(b"heads", {}) == head + b"\n"


def test_damage_on_disk_breaks_the_stream(repository: Repository, bridge: Bridge) -> None:
    (repository.root / "big").write_bytes(os.urandom(3_000_000))
    head = repository.commit("a")
    (repository.root / ".hg/store/data/big.i").write_bytes(b"\0" * 64)
    with pytest.raises(StoreError):
        list(bridge.stream(b"getbundle", pull([head])))


def test_a_process_that_is_silent_too_long_is_ended(
    repository: Repository, bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = repository.commit("a")
    repository.configure("[hooks]\npreoutgoing = sleep 600\n")
    monkeypatch.setattr(bridge_module, "STREAM_SECONDS", 1.0)
    start = time.monotonic()
    with pytest.raises(StoreError, match="silent"):
        bridge.stream(b"getbundle", pull([head]))
    assert time.monotonic() - start < 20


def test_a_reader_that_goes_away_ends_the_process(repository: Repository, bridge: Bridge) -> None:
    (repository.root / "big").write_bytes(os.urandom(4_000_000))
    head = repository.commit("a")
    blocks = bridge.stream(b"getbundle", pull([head]))
    assert isinstance(blocks, Blocks)
    assert blocks._server is not None
    process = blocks._server.process
    blocks.close()
    assert not process.is_running
    assert next(blocks, None) is None
    del blocks
    forgotten = bridge.stream(b"getbundle", pull([head]))
    assert isinstance(forgotten, Blocks)
    assert forgotten._server is not None
    process = forgotten._server.process
    del forgotten
    assert not process.is_running


def test_a_missing_program_is_one_clear_error(repository: Repository) -> None:
    with pytest.raises(StoreError, match="no program at '/no/hg'"):
        Bridge(str(repository.root), (), Pool(hg="/no/hg")).call(b"heads", {})


def test_threads_share_a_few_processes(repository: Repository) -> None:
    head = repository.commit("a")
    pool = Pool(Limits(processes=2, processes_per_repository=2, wait_seconds=60))
    bridge = Bridge(str(repository.root), (), pool)
    answers: list[bytes] = []
    sizes: list[int] = []

    def work() -> None:
        for _ in range(3):
            answers.append(bridge.call(b"heads", {}))
        sizes.append(len(b"".join(bridge.stream(b"getbundle", pull([head])))))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [head + b"\n"] * 18
    assert len(set(sizes)) == 1
    assert len(sizes) == 6
    pool.close()


# Pushing


@dataclass(frozen=True)
class Push:
    """What a client would push: one changeset that `base` hasn't got."""

    base: Path
    node: bytes
    bundle1: bytes
    bundle2: bytes


@pytest.fixture(scope="session")
def push(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Push:
    folder = tmp_path_factory.mktemp("push")
    base = Repository(folder / "base", copied_from=empty)
    base.commit("base")
    client = Repository(folder / "client", copied_from=base.root)
    node = client.commit("pushed", "x" * 100_000)
    client.hg("bundle", "-q", "-t", "none-v1", "--base", "0", str(folder / "bundle"))
    bundle1 = (folder / "bundle").read_bytes()
    return Push(base.root, node, bundle1, as_bundle2(bundle1, client))


def as_bundle2(bundle1: bytes, client: Repository) -> bytes:
    """By Mercurial's own writer: a client's capabilities, then the changegroup."""
    repo = hg.repository(ui.ui.load(), os.fsencode(client.root))
    bundler = bundle2.bundle20(repo.ui)
    capabilities = bundle2.encodecaps(bundle2.getrepocaps(repo, role=b"client"))
    bundler.newpart(b"replycaps", data=capabilities)
    bundler.newpart(b"changegroup", data=bundle1[len(b"HG10UN") :])
    return b"".join(bundler.getchunks())


@pytest.fixture
def target(push: Push, tmp_path: Path) -> Repository:
    return Repository(tmp_path / "target", copied_from=push.base)


@pytest.fixture
def pushed_to(target: Repository, pool: Pool) -> Bridge:
    return Bridge(str(target.root), (), pool)


FORCE = b"force".hex().encode()


def pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), 10_000):
        yield data[start : start + 10_000]
    yield b""


def body(reply: Bytes | Stream) -> bytes:
    return reply.data if isinstance(reply, Bytes) else b"".join(reply.blocks)


def parts_of(reply: bytes) -> list[tuple[str, dict[bytes, bytes], bytes]]:
    unbundler = bundle2.getunbundler(ui.ui.load(), io.BytesIO(reply))
    return [(part.type.decode(), dict(part.params), part.read()) for part in unbundler.iterparts()]


HOOK = (
    "[hooks]\npretxnchangegroup.words = "
    "echo 'gr\u00fc\u00dfe' \"$HG_URL $REMOTE_USER $HG_SOURCE\"; echo second >&2; {end}\n"
)
SAID = "gr\u00fc\u00dfe remote:http:192.0.2.7:ann ann serve\nsecond\n".encode()


def test_push_of_bundle1_with_what_hooks_say(
    target: Repository, pushed_to: Bridge, push: Push
) -> None:
    target.configure(HOOK.format(end="true"))
    reply = pushed_to.unbundle(FORCE, pieces(push.bundle1), ANN)
    assert reply == Bytes(
        b"1\nadding changesets\nadding manifests\nadding file changes\n"
        + SAID
        + b"added 1 changesets with 1 changes to 1 files\n"
    )
    assert pushed_to.call(b"heads", {}) == push.node + b"\n"


def test_push_of_bundle1_that_a_hook_refuses(
    target: Repository, pushed_to: Bridge, push: Push
) -> None:
    target.configure(HOOK.format(end="exit 1"))
    before = pushed_to.call(b"heads", {})
    reply = body(pushed_to.unbundle(FORCE, pieces(push.bundle1), ANN))
    assert reply.startswith(b"0\nadding changesets\n")
    assert SAID in reply
    assert b"abort: pretxnchangegroup.words hook exited with status 1\n" in reply
    assert pushed_to.call(b"heads", {}) == before
    target.hg("verify", "-q")


def test_push_of_bundle2_with_what_hooks_say(
    target: Repository, pushed_to: Bridge, push: Push
) -> None:
    target.configure(HOOK.format(end="true"))
    parts = parts_of(body(pushed_to.unbundle(FORCE, pieces(push.bundle2), ANN)))
    assert {name for name, _, _ in parts} == {"reply:changegroup", "output"}
    assert [params[b"return"] for name, params, _ in parts if "reply" in name] == [b"1"]
    assert SAID in b"".join(data for _, _, data in parts)
    assert pushed_to.call(b"heads", {}) == push.node + b"\n"


def test_push_of_bundle2_that_a_hook_refuses(
    target: Repository, pushed_to: Bridge, push: Push
) -> None:
    target.configure(HOOK.format(end="exit 1"))
    before = pushed_to.call(b"heads", {})
    parts = parts_of(body(pushed_to.unbundle(FORCE, pieces(push.bundle2), ANN)))
    assert SAID in b"".join(data for name, _, data in parts if name == "output")
    assert parts[-1][0] == "error:abort"
    assert parts[-1][1][b"message"] == b"pretxnchangegroup.words hook exited with status 1"
    assert pushed_to.call(b"heads", {}) == before
    target.hg("verify", "-q")


def test_a_raced_push_of_bundle1_is_refused_and_its_payload_read(
    target: Repository, pushed_to: Bridge, push: Push
) -> None:
    payload = pieces(push.bundle1)
    stale = b"hashed".hex().encode() + b" " + hashlib.sha1(b"others").hexdigest().encode()
    reply = body(pushed_to.unbundle(stale, payload, ANN))
    assert reply.startswith(b"0\nrepository changed while preparing changes")
    assert next(payload, None) is None


@pytest.mark.parametrize("kind", ["bundle1", "bundle2"])
def test_a_payload_cut_short_changes_nothing(
    target: Repository, pushed_to: Bridge, push: Push, kind: str
) -> None:
    before = pushed_to.call(b"heads", {})
    whole = push.bundle1 if kind == "bundle1" else push.bundle2
    for cut in (0, 3, 6, 500, 50_000, len(whole) - 1):
        assert body(pushed_to.unbundle(FORCE, pieces(whole[:cut]), ANN))
        assert pushed_to.call(b"heads", {}) == before
    target.hg("verify", "-q")


def test_a_client_that_vanishes_changes_nothing_and_leaves_no_lock(
    target: Repository, pushed_to: Bridge, push: Push
) -> None:
    def vanishing() -> Iterator[bytes]:
        yield push.bundle2[:-4]
        raise ConnectionResetError

    before = pushed_to.call(b"heads", {})
    for setting in ("no", "yes"):
        target.configure(f"[server]\nstreamunbundle = {setting}\n")
        with pytest.raises(ConnectionResetError):
            pushed_to.unbundle(FORCE, vanishing(), ANN)
        assert pushed_to.call(b"heads", {}) == before
        assert not os.path.lexists(target.root / ".hg/store/lock")
    target.hg("verify", "-q")


def test_a_push_that_is_silent_too_long_is_rolled_back(
    target: Repository, pushed_to: Bridge, push: Push, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pushed_to.call(b"heads", {})
    target.configure("[hooks]\npretxnchangegroup = sleep 600\n")
    monkeypatch.setattr(bridge_module, "PUSH_SECONDS", 2.0)
    with pytest.raises(StoreError, match="silent"):
        pushed_to.unbundle(FORCE, pieces(push.bundle2), ANN)
    target.configure("")
    assert pushed_to.call(b"heads", {}) == before
    assert not os.path.lexists(target.root / ".hg/store/lock")
    target.hg("verify", "-q")


def test_pushkey_answers_with_what_hooks_say(repository: Repository, bridge: Bridge) -> None:
    node = repository.commit("a")
    repository.configure('[hooks]\nprepushkey = echo "gr\u00fc\u00dfe $HG_KEY"\n')
    arguments = {
        b"namespace": b"bookmarks",
        b"key": "m\u00e4rz".encode(),
        b"old": b"",
        b"new": node,
    }
    assert bridge.pushkey(arguments, ANN) == "1\ngr\u00fc\u00dfe m\u00e4rz\n".encode()
    other = arguments | {b"old": b"1" * 40, b"new": b"2" * 40}
    assert bridge.pushkey(other, ANN).startswith(b"0\n")
    repository.configure("[hooks]\nprepushkey = echo no; exit 1\n")
    reply = bridge.pushkey(arguments | {b"old": node, b"new": b""}, ANN)
    assert reply.startswith(b"0\nno\npushkey-abort: prepushkey hook exited with status 1\n")


# Clients that go away

SLEEPERS = """
import time
from mercurial import wireprototypes, wireprotov1server

def sleep(repo, proto):
    time.sleep(2.5)
    return wireprototypes.bytesresponse(b"slept")

for permission in (b"pull", b"push"):
    wireprotov1server.wireprotocommand(permission + b"er", permission=permission)(sleep)
"""


@pytest.fixture
def sleepers(repository: Repository, bridge: Bridge, tmp_path: Path) -> Bridge:
    (tmp_path / "sleepers.py").write_text(SLEEPERS)
    repository.configure(f"[extensions]\nsleepers = {tmp_path / 'sleepers.py'}\n")
    return bridge


def test_nobody_works_for_a_client_that_is_gone(sleepers: Bridge, pool: Pool) -> None:
    sleepers.call(b"heads", {})
    (warm,) = pool.pids
    work = Work()
    with sleepers.session(work=work) as session:
        session.call(b"heads", {})
        threading.Timer(0.2, work.leave).start()
        with pytest.raises(ClientGone):
            session.call(b"puller", {})
    assert not pool.pids
    assert sleepers.call(b"heads", {}) == NULL + b"\n"
    assert warm not in pool.pids


def test_what_writes_is_done_to_its_end(sleepers: Bridge) -> None:
    work = Work()
    with sleepers.session(work=work) as session:
        session.call(b"heads", {})
        threading.Timer(0.2, work.leave).start()
        assert session.call(b"pusher", {}) == b"slept"


def test_nobody_waits_for_a_process_who_is_gone(repository: Repository, sleepers: Bridge) -> None:
    pool = Pool(Limits(processes=1, processes_per_repository=1, wait_seconds=60))
    server = pool.lease(sleepers.place, ANN)
    work = Work()
    threading.Timer(0.2, work.leave).start()
    with pytest.raises(ClientGone):
        pool.lease(sleepers.place, ANN, work)
    pool.give_back(sleepers.place, server)
    pool.close()
