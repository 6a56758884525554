"""What is measured. One table: the runner, the report and the command line all read it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.dataset import ENVIRONMENT
from benchmarks.loads import clone_side_by_side, full_link, read_side_by_side, slow_readers
from benchmarks.process import Server, bin_path
from benchmarks.reader import Connection, argument_headers, getbundle
from benchmarks.rounds import Figures

NULL = "0" * 40
NO_OP_SECONDS = 4.0
PAUSE_SECONDS = 2.0  # between two pushes
STOCK_READERS = 3  # of a storm


@dataclass(frozen=True)
class Repository:
    """What the clients ask for; read once with the real hg."""

    path: Path
    heads: list[str]
    changesets: int


@dataclass(frozen=True)
class Case:
    """`config` goes to both servers; `run` is timed from outside, its figures are its own.

    `dataset`: the repository that it needs, when that isn't the run's. `spools`: Trunkline may make
    a reply once for many; elsewhere each is made anew. `missing`: the server has a fresh copy
    without so many of the newest changesets; None: it has the repository itself.
    """

    name: str
    title: str
    config: tuple[str, ...]
    run: Callable[[Server, Repository], Figures]
    dataset: str = ""
    spools: bool = False
    missing: int | None = None
    is_side_by_side: bool = False


def read_bundle(server: Server, headers: dict[str, str]) -> Figures:
    connection = Connection(server.port)
    try:
        reading = connection.get("/?cmd=getbundle", headers)
    finally:
        connection.close()
    assert reading.status == 200, f"{server.name} answered {reading.status}"
    return reading.figures()


def full_clone(server: Server, repository: Repository) -> Figures:
    return read_bundle(server, getbundle(repository.heads, [NULL]))


def one_head(server: Server, repository: Repository) -> Figures:
    return read_bundle(server, getbundle(repository.heads[-1:], [NULL]))


def stream_clone(server: Server, repository: Repository) -> Figures:
    return read_bundle(server, getbundle(repository.heads, [NULL], stream=True))


def storm(readers: int) -> Callable[[Server, Repository], Figures]:
    """Identical clones at once; all must get the same bytes. Figures are of one clone.

    `hg serve` gets STOCK_READERS: its cost grows with each.
    """

    def run(server: Server, repository: Repository) -> Figures:
        count = readers if server.name == "trunkline" else min(readers, STOCK_READERS)
        headers = getbundle(repository.heads, [NULL])
        return at_once(server, count, lambda: read_digest(server.port, headers))

    return run


def warm_clones(readers: int, stream: bool = False) -> Callable[[Server, Repository], Figures]:
    """The same after Trunkline was asked twice; nothing is done with the bytes."""

    def run(server: Server, repository: Repository) -> Figures:
        headers = getbundle(repository.heads, [NULL], stream=stream)
        if server.name == "trunkline":
            for _ in range(2):
                read_bundle(server, headers)
        return at_once(server, readers, lambda: int(read_bundle(server, headers)["bytes_body"]))

    return run


def side_by_side(how: str, count: int, is_real: bool) -> Callable[[Server, Repository], Figures]:
    """The third seed's table. A byte reader's pull into an empty repository is a normal clone."""

    def run(server: Server, repository: Repository) -> Figures:
        headers = getbundle(repository.heads, [NULL], stream=how == "uncompressed")
        if not is_real:
            return read_side_by_side(server, count, headers)
        size = int(read_bundle(server, headers)["bytes_body"])
        return clone_side_by_side(server, count, how, size)

    return run


def slow(count: int) -> Callable[[Server, Repository], Figures]:
    return lambda server, repository: slow_readers(
        server, count, getbundle(repository.heads, [NULL])
    )


def full(connections: int) -> Callable[[Server, Repository], Figures]:
    """Of a stream clone that was made before."""

    def run(server: Server, repository: Repository) -> Figures:
        headers = getbundle(repository.heads, [NULL], stream=True)
        for _ in range(2):
            read_bundle(server, headers)
        return full_link(server, connections, headers)

    return run


def at_once(server: Server, count: int, read: Callable[[], object]) -> Figures:
    """What `read` gives must be the same for all."""
    before, started = server.cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        found = {job.result() for job in [pool.submit(read) for _ in range(count)]}
    wall, cpu = time.perf_counter() - started, server.cpu_seconds() - before
    assert len(found) == 1, "the readers got different bytes"
    (size,) = (entry[0] if isinstance(entry, tuple) else entry for entry in found)
    assert isinstance(size, int)
    return {
        "readers": count,
        "bytes_body": size,
        "server_cpu_s": cpu / count,
        "bytes_per_s": size * count / wall,
    }


def read_digest(port: int, headers: dict[str, str]) -> tuple[int, bytes]:
    digest = sha1(usedforsecurity=False)
    connection = Connection(port)
    try:
        reading = connection.get("/?cmd=getbundle", headers, sink=digest.update)
    finally:
        connection.close()
    assert reading.status == 200
    return reading.bytes_body, digest.digest()


def pull_nothing(port: int, heads: list[str]) -> int:
    """What `hg pull` asks when there is nothing new, over and over on one connection: requests."""
    batch = argument_headers({"cmds": f"heads ;known nodes={' '.join(heads)}"})
    plain = argument_headers({})
    connection = Connection(port)
    pulls = 0
    until = time.monotonic() + NO_OP_SECONDS
    try:
        while time.monotonic() < until:
            for path, headers in (("/?cmd=capabilities", plain), ("/?cmd=batch", batch)):
                assert connection.get(path, headers).status == 200
            pulls += 1
    finally:
        connection.close()
    return 2 * pulls


def no_op_pulls(connections: int) -> Callable[[Server, Repository], Figures]:
    """Each connection has a process of its own to ask from."""

    def run(server: Server, repository: Repository) -> Figures:
        with ProcessPoolExecutor(connections) as pool:
            jobs = [
                pool.submit(pull_nothing, server.port, repository.heads) for _ in range(connections)
            ]
            requests = sum(job.result() for job in jobs)
        return {"requests_per_s": requests / NO_OP_SECONDS, "requests": requests}

    return run


def real_clone(*options: str) -> Callable[[Server, Repository], Figures]:
    """The stock client; its clone is checked against the source."""

    def run(server: Server, repository: Repository) -> Figures:
        scratch = Path(tempfile.mkdtemp(prefix="trunkline-bench-"))
        try:
            hg = bin_path("hg")
            before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(
                [hg, "clone", "-q", "-U", *options, server.url, str(scratch / "clone")],
                env=ENVIRONMENT,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            wall, after = time.perf_counter() - started, getrusage(RUSAGE_CHILDREN)
            heads = subprocess.run(
                [hg, "-R", str(scratch / "clone"), "heads", "-t", "-T", "{node}\n"],
                env=ENVIRONMENT,
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
            assert set(heads) == set(repository.heads), "the clone has other heads"
        finally:
            shutil.rmtree(scratch)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"client_cpu_s": used, "wall_s": wall}

    return run


def push(server: Server, repository: Repository, *options: str) -> None:
    """By the stock client."""
    command = [bin_path("hg"), "-R", str(repository.path), "push", "--quiet", "--force", *options]
    done = subprocess.run([*command, server.url], env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1: there was nothing to push


def later_push(server: Server, repository: Repository) -> Figures:
    """Of the newest changeset, a while after the one before it: nothing is started for it."""
    push(server, repository, "--rev", str(repository.changesets - 2))
    time.sleep(PAUSE_SECONDS)
    before = server.cpu_seconds()
    figures = real_push(server, repository)
    return {**figures, "server_cpu_s": server.cpu_seconds() - before}


def real_push(server: Server, repository: Repository) -> Figures:
    """With all of the repository; the server must have it all afterwards."""
    before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    push(server, repository)
    wall, after = time.perf_counter() - started, getrusage(RUSAGE_CHILDREN)
    connection = Connection(server.port)
    try:
        reading = connection.get("/?cmd=heads", {}, keep=True)
    finally:
        connection.close()
    assert set(reading.body.decode().split()) == set(repository.heads), "the server has other heads"
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"client_cpu_s": used, "wall_s": wall}


PUSHABLE = ("web.push_ssl=no", "web.allow-push=*")


def pushing(name: str, title: str, missing: int) -> Case:
    return Case(name, title, PUSHABLE, real_push, "push", missing=missing)


def engine(name: str, level: int | None = None) -> tuple[str, ...]:
    config = (f"server.compressionengines={name}",)
    return config if level is None else (*config, f"server.{name}level={level}")


SIDE_BY_SIDE = {
    "readers": ("normal", "uncompressed"),
    "clients": ("normal", "uncompressed", "init and pull"),
}


def side_name(kind: str, how: str, count: int) -> str:
    return f"{kind}-{how.replace(' ', '-')}-{count}"


CASES = {
    case.name: case
    for case in (
        Case("clone-none", "full clone, no compression", engine("none"), full_clone),
        Case("clone-zstd-1", "full clone, zstd 1", engine("zstd", 1), full_clone),
        Case("clone-zstd-3", "full clone, zstd 3 (default)", engine("zstd", 3), full_clone),
        Case("clone-zstd-7", "full clone, zstd 7", engine("zstd", 7), full_clone),
        Case("clone-zstd-10", "full clone, zstd 10", engine("zstd", 10), full_clone),
        Case("clone-zlib", "full clone, zlib (default level)", engine("zlib"), full_clone),
        Case("clone-one-head", "clone -r of one head, no compression", engine("none"), one_head),
        Case("stream", "stream clone v2", (), stream_clone),
        Case("stream-wide", "stream clone v2 of 38,000 files", (), stream_clone, "wide"),
        Case("storm-1", "the first clone, zstd 3", engine("zstd", 3), storm(1), spools=True),
        Case(
            "storm-50",
            "each of 50 clones at once, zstd 3",
            engine("zstd", 3),
            storm(50),
            spools=True,
        ),
        Case("warm", "clone made before, zstd 3", engine("zstd", 3), warm_clones(1), spools=True),
        Case("warm-none", "clone made before, none", engine("none"), warm_clones(1), spools=True),
        Case(
            "warm-stream-4",
            "each of 4 stream clones made before, 38,000 files",
            (),
            warm_clones(4, stream=True),
            "wide",
            spools=True,
        ),
        Case("slow-30", "beside 30 readers at 10 kB/s", engine("zstd", 3), slow(30), spools=True),
        Case("gigabit", "stream clones that fill a gigabit", (), full(4), spools=True),
        Case("no-op-pull", "pull with nothing new, 1 connection", (), no_op_pulls(1)),
        Case("no-op-pull-16", "pull with nothing new, 16 connections", (), no_op_pulls(16)),
        Case("client-none", "hg clone, no compression", engine("none"), real_clone()),
        Case("client-zstd-1", "hg clone, zstd 1", engine("zstd", 1), real_clone()),
        Case("client-zstd-3", "hg clone, zstd 3", engine("zstd", 3), real_clone()),
        Case("client-zstd-7", "hg clone, zstd 7", engine("zstd", 7), real_clone()),
        Case("client-zstd-10", "hg clone, zstd 10", engine("zstd", 10), real_clone()),
        Case("client-zlib", "hg clone, zlib", engine("zlib"), real_clone()),
        Case("client-stream", "hg clone --stream", (), real_clone("--stream")),
        pushing("push-1", "hg push of 1 changeset", 1),
        Case(
            "push-1-later",
            "hg push of 1 changeset, after another push",
            PUSHABLE,
            later_push,
            "push",
            missing=2,
        ),
        pushing("push-2000", "hg push of 2,000 changesets", 2000),
        pushing("push-nothing", "hg push with nothing to push", 0),
        *(
            Case(
                side_name(kind, how, count),
                f"{count} x {how}, {kind}",
                (),
                side_by_side(how, count, kind == "clients"),
                "push" if kind == "clients" else "",
                spools=True,
                is_side_by_side=True,
            )
            for kind, ways in SIDE_BY_SIDE.items()
            for how in ways
            for count in (1, 2, 3, 4)
        ),
    )
}
