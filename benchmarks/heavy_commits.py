"""`python -m benchmarks.heavy_commits`: one very large commit through a gateway; does its memory
stay small? Minutes, and gigabytes of disk; no part of any other run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import click

from benchmarks.commit_site import Far, own, sites
from benchmarks.process import peak_bytes
from benchmarks.run_commit import REPOSITORY, svn, youngest

GIB = 1 << 30
MIB = 1 << 20
FILES_IN_FOLDER = 500
BLOCK = 1 << 20
# Where anything of a commit could be left.
LEFT = ("db/transactions", "db/txn-protorevs")


def write_large(folder: Path, gib: float) -> int:
    """Of what nothing makes shorter; how many files there are."""
    folder.mkdir()
    with (folder / "large").open("wb") as file:
        for _ in range(int(gib * GIB) // BLOCK):
            file.write(os.urandom(BLOCK))
    return 1


def write_many(folder: Path, files: int) -> int:
    for number in range(files):
        place = folder / f"d{number // FILES_IN_FOLDER:04}"
        if number % FILES_IN_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"f{number % FILES_IN_FOLDER:03}").write_bytes(b"%d\n" % number)
    return files


def commit(far: Far, folder: Path, files: int, is_direct: bool) -> None:
    tree, target = folder / "tree", f"{far.url}/{REPOSITORY}/tree"
    begun = time.perf_counter()
    options = [] if is_direct else far.proxy
    svn(folder, "import", "-q", "--no-ignore", "-m", "m", str(tree), target, *options)
    wall = time.perf_counter() - begun
    disk = far.root / REPOSITORY
    paths = subprocess.check_output(["svnlook", "changed", str(disk)]).count(b"\n")
    assert (youngest(far), paths) == (1, files + folders(tree) + 1), "not committed"
    assert not any(list((disk / left).iterdir()) for left in LEFT), "something is left"
    gateway, server = peak_bytes(far.gateway_pid) / MIB, far.server.peak_bytes() / MIB
    said = f"most memory of one process: gateway {gateway:.0f} MiB, server {server:.0f} MiB"
    click.echo(f"{far.server.name}: {wall:.1f} s; {said}")


def folders(tree: Path) -> int:
    return sum(path.is_dir() for path in tree.iterdir())


@click.command()
@click.option("--server", "name", type=click.Choice(["apache", "trunkline"]), default="apache")
@click.option("--large", "gib", type=float, help="GiB of one file")
@click.option("--many", "files", type=int, help="small files")
@click.option("--ms", default=0, show_default=True, help="of the link, there and back")
@click.option("--direct", "is_direct", is_flag=True, help="without the gateway")
@click.option("--folder", type=click.Path(path_type=Path), default=Path(tempfile.gettempdir()))
def main(
    name: str, gib: float | None, files: int | None, ms: int, is_direct: bool, folder: Path
) -> None:
    """Commit one file of so many GiB, or so many small ones."""
    work = Path(tempfile.mkdtemp(prefix="trunkline-bench-", dir=folder))
    work.chmod(0o755)
    server = "apache-unlimited" if name == "apache" else name
    try:
        made = write_large(work / "tree", gib) if gib else write_many(work / "tree", files or 1000)
        with sites(ms, (server,), work) as far:
            disk = far[server].root / REPOSITORY
            subprocess.run(["svnadmin", "create", str(disk)], check=True)
            if name == "apache":
                own(disk)
            commit(far[server], work, made, is_direct)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
