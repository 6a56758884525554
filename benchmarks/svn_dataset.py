"""`python -m benchmarks.svn_dataset NAME FOLDER`: make a Subversion repository, from a dump stream.

The stream is made from a seed and read by `svnadmin load` while it is made.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from hashlib import md5
from pathlib import Path

import click

VERSION = 1  # counted up when a shape makes other bytes
SEED = 7
FOLDERS = 100
FILES_IN_FOLDER = 100
LARGE_BYTES = 1 << 30
LARGE_BLOCK = 1 << 20
LOG_REVISIONS = 10_000
BLAME_REVISIONS = 1000
BLAME_LINES = 400
WORDS = [
    "revision",
    "tree",
    "delta",
    "folder",
    "commit",
    "author",
    "report",
    "window",
    "stream",
    "buffer",
    "header",
    "value",
    "index",
    "change",
    "editor",
    "cursor",
    "record",
    "branch",
    "merge",
    "reader",
    "writer",
    "table",
    "result",
    "number",
]


def properties(values: dict[str, str]) -> bytes:
    pieces = [f"K {len(name)}\n{name}\nV {len(value)}\n{value}\n" for name, value in values.items()]
    return ("".join(pieces) + "PROPS-END\n").encode()


def format_revision(number: int, log: str) -> bytes:
    at = f"{number % 86400 // 3600:02}:{number % 3600 // 60:02}:{number % 60:02}"
    day = 1 + number // 86400
    date = f"2020-01-{day:02}T{at}.000000Z"
    props = properties({"svn:author": f"user{number % 7}", "svn:date": date, "svn:log": log})
    head = f"Revision-number: {number}\nProp-content-length: {len(props)}\n"
    return head.encode() + b"Content-length: %d\n\n%s\n" % (len(props), props)


def format_folder(path: str) -> bytes:
    props = properties({})
    return (
        (
            f"Node-path: {path}\nNode-kind: dir\nNode-action: add\n"
            f"Prop-content-length: {len(props)}\nContent-length: {len(props)}\n\n"
        ).encode()
        + props
        + b"\n\n"
    )


def format_file(path: str, text: bytes, action: str = "add") -> bytes:
    head = f"Node-path: {path}\nNode-kind: file\nNode-action: {action}\n"
    digest = md5(text, usedforsecurity=False).hexdigest()
    head += f"Text-content-length: {len(text)}\nText-content-md5: {digest}\n"
    return head.encode() + b"Content-length: %d\n\n%s\n\n" % (len(text), text)


def prose(dice: random.Random, size: int) -> bytes:
    lines, length = [], 0
    while length < size:
        line = " ".join(dice.choices(WORDS, k=9))
        lines.append(line)
        length += len(line) + 1
    return ("\n".join(lines) + "\n").encode()


def many() -> Iterator[bytes]:
    """10,000 small files in 100 folders; r2 changes one."""
    dice = random.Random(SEED)
    yield format_revision(1, "many files")
    yield format_folder("trunk")
    for folder in range(FOLDERS):
        yield format_folder(f"trunk/d{folder:03}")
        for number in range(FILES_IN_FOLDER):
            text = prose(dice, int(dice.lognormvariate(7, 1)))
            yield format_file(f"trunk/d{folder:03}/file{number:03}.txt", text)
    yield format_revision(2, "one file")
    yield format_file("trunk/d050/file050.txt", prose(dice, 1500), "change")


def large() -> Iterator[bytes]:
    """One file that nothing makes shorter."""
    digest = md5(usedforsecurity=False)
    for block in large_blocks():
        digest.update(block)
    yield format_revision(1, "a large file")
    yield format_folder("trunk")
    yield (
        "Node-path: trunk/large.bin\nNode-kind: file\nNode-action: add\n"
        f"Text-content-length: {LARGE_BYTES}\nText-content-md5: {digest.hexdigest()}\n"
        f"Content-length: {LARGE_BYTES}\n\n"
    ).encode()
    yield from large_blocks()
    yield b"\n\n"


def large_blocks() -> Iterator[bytes]:
    dice = random.Random(SEED)
    for _ in range(LARGE_BYTES // LARGE_BLOCK):
        yield dice.randbytes(LARGE_BLOCK)


def history() -> Iterator[bytes]:
    """10,000 revisions; the first thousand change lines of one file."""
    dice = random.Random(SEED)
    lines = [prose(dice, 40) for _ in range(BLAME_LINES)]
    for number in range(1, LOG_REVISIONS + 1):
        yield format_revision(number, f"r{number}: " + " ".join(dice.choices(WORDS, k=12)))
        if number == 1:
            yield format_folder("trunk")
            for folder in range(20):
                yield format_folder(f"trunk/d{folder:02}")
            yield format_file("trunk/blamed.txt", b"".join(lines))
        elif number <= BLAME_REVISIONS:
            lines[dice.randrange(len(lines))] = prose(dice, 40)
            yield format_file("trunk/blamed.txt", b"".join(lines), "change")
        else:
            path = f"trunk/d{dice.randrange(20):02}/f{number}.txt"
            yield format_file(path, prose(dice, 200))


SHAPES: dict[str, Callable[[], Iterator[bytes]]] = {
    "many": many,
    "large": large,
    "history": history,
}


def build(name: str, folder: Path, verbose: bool = True) -> Path:
    """The repository `folder/name`; it is kept when it is there already."""
    target, stamp = folder / name, folder / f"{name}.json"
    wanted = json.dumps({"version": VERSION})
    if stamp.exists() and stamp.read_text() == wanted and target.is_dir():
        return target
    shutil.rmtree(target, ignore_errors=True)
    stamp.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    if verbose:
        click.echo(f"making {target}", err=True)
    subprocess.run(["svnadmin", "create", str(target)], check=True)
    load(target, SHAPES[name]())
    stamp.write_text(wanted)
    return target


def load(repository: Path, blocks: Iterator[bytes]) -> None:
    command = ["svnadmin", "load", "--quiet", "--ignore-uuid", "--no-flush-to-disk"]
    process = subprocess.Popen(
        [*command, str(repository)],
        stdin=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert process.stdin is not None
    process.stdin.write(b"SVN-fs-dump-format-version: 2\n\n")
    for block in blocks:
        process.stdin.write(block)
    process.stdin.close()
    if process.wait():
        raise RuntimeError(f"svnadmin load failed for {repository}")


@click.command()
@click.argument("name", type=click.Choice(sorted(SHAPES)))
@click.argument("folder", type=click.Path(path_type=Path))
def main(name: str, folder: Path) -> None:
    click.echo(build(name, folder))


if __name__ == "__main__":
    main()
