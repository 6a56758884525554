"""What is measured with stock `svn`. One table: the runner and the report read it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.process import Server
from benchmarks.rounds import Figures

CLIENTS = 8
IN_A_ROW = 3
BLOCK = 1 << 20
# Where clients write: what a disk costs would hide what servers do.
MEMORY = Path("/dev/shm")
WRITTEN = MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())


@dataclass(frozen=True)
class Scratch:
    """`copies` holds what is made once: working copies that are updated back and forth."""

    folder: Path
    copies: Path
    repository: Path


Run = Callable[[Server, Scratch], Figures]


@dataclass(frozen=True)
class Case:
    """`most` is what ours may take of the stock server's wall time. `is_wide`: as many workers as
    Trunkline has by default, not one.
    """

    name: str
    title: str
    dataset: str
    run: Run
    most: float = 1.0
    is_wide: bool = False


def svn(scratch: Scratch, *arguments: str) -> bytes:
    """What it says."""
    done = subprocess.run(
        ["svn", "--non-interactive", "--config-dir", str(scratch.copies / "config"), *arguments],
        env={**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(scratch.folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout


def timed(server: Server, work: Callable[[], object]) -> Figures:
    server_before = server.cpu_seconds()
    before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    work()
    wall, after = time.perf_counter() - started, getrusage(RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "wall_s": wall,
        "client_cpu_s": used,
        "server_cpu_s": server.cpu_seconds() - server_before,
    }


def gets(command: str) -> Run:
    """A whole tree, by `checkout` or `export`; it must be the same from both servers."""

    def run(server: Server, scratch: Scratch) -> Figures:
        target = scratch.folder / command
        figures = timed(
            server, lambda: svn(scratch, command, "-q", f"{server.url}trunk", str(target))
        )
        same(scratch, tree_digest(target))
        return figures

    return run


def tree_digest(folder: Path) -> str:
    """Of names and contents; what a working copy keeps for itself doesn't count."""
    digest = sha1(usedforsecurity=False)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".svn" not in path.parts:
            digest.update(str(path.relative_to(folder)).encode())
            with path.open("rb") as file:
                while block := file.read(BLOCK):
                    digest.update(block)
    return digest.hexdigest()


def same(scratch: Scratch, found: str) -> None:
    """As the first that came from this repository in this way."""
    kept = scratch.copies / f"{scratch.repository.name}.digest"
    if not kept.exists():
        kept.write_text(found)
    assert kept.read_text() == found, "the trees differ"


def quickest(server: Server, work: Callable[[], object], prepare: Callable[[], object]) -> Figures:
    """Of a few in a row: what is short is soon disturbed."""
    found = []
    for _ in range(IN_A_ROW):
        prepare()
        found.append(timed(server, work))
    return min(found, key=lambda figures: figures["wall_s"])


def update(server: Server, scratch: Scratch) -> Figures:
    """From r1 to r2, which changes one file."""
    copy = str(scratch.copies / "update")
    if Path(copy).exists():
        svn(scratch, "relocate", f"{server.url}trunk", copy)
    else:
        svn(scratch, "checkout", "-q", f"{server.url}trunk", copy)
    return quickest(
        server,
        lambda: svn(scratch, "update", "-q", copy),
        lambda: svn(scratch, "update", "-q", "-r1", copy),
    )


def says(*arguments: str, below: str = "trunk") -> Run:
    """What it says must be the same from both servers."""

    def run(server: Server, scratch: Scratch) -> Figures:
        said: list[bytes] = []
        url = f"{server.url}{below}"
        figures = quickest(server, lambda: said.append(svn(scratch, *arguments, url)), lambda: None)
        kept = scratch.copies / ("-".join(arguments) + ".said")
        if not kept.exists():
            kept.write_bytes(said[0])
        assert {kept.read_bytes()} == set(said), "the clients say different things"
        return figures

    return run


def at_once(server: Server, scratch: Scratch) -> Figures:
    """Exports of everything."""

    def export(number: int) -> None:
        target = scratch.folder / f"export{number}"
        svn(scratch, "export", "-q", f"{server.url}trunk", str(target))

    def work() -> None:
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(export, range(CLIENTS)))

    return timed(server, work)


CASES = {
    case.name: case
    for case in (
        Case("checkout", "checkout of 10,000 small files", "many", gets("checkout"), 0.7),
        Case("export", "export of 10,000 small files", "many", gets("export")),
        Case("checkout-large", "checkout of one 1 GiB file", "large", gets("checkout")),
        Case("export-large", "export of one 1 GiB file", "large", gets("export")),
        Case("update", "update of 1 file in 10,000", "many", update),
        Case("log", "log of 10,000 revisions", "history", says("log")),
        Case("log-verbose", "log -v of 10,000 revisions", "history", says("log", "-v")),
        Case("list", "list -R of 10,000 files", "many", says("list", "-R")),
        Case("list-verbose", "list -v -R of 10,000 files", "many", says("list", "-v", "-R")),
        Case(
            "blame",
            "blame of 1,000 revisions",
            "history",
            says("blame", below="trunk/blamed.txt"),
        ),
        Case(
            "at-once", f"{CLIENTS} exports of 10,000 files at once", "many", at_once, is_wide=True
        ),
    )
}


def scratch_folder(copies: Path, repository: Path) -> Scratch:
    return Scratch(
        Path(tempfile.mkdtemp(prefix="trunkline-bench-", dir=WRITTEN)), copies, repository
    )


def throw_away(scratch: Scratch) -> None:
    shutil.rmtree(scratch.folder)
