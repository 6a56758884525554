"""`python -m benchmarks.dataset NAME FOLDER`: make a benchmark repository with the real hg."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click

from benchmarks.history import SHAPES, History, format_bundle

VERSION = 6  # counted up when `history` makes other bytes
ENVIRONMENT = {
    **os.environ,
    "HGRCPATH": "",
    "HGPLAIN": "1",
    "LC_ALL": "C.UTF-8",
    "HGUSER": "bench <bench@example.org>",
}


def run_hg(*arguments: str, cwd: Path | None = None) -> str:
    hg = Path(sys.executable).with_name("hg")
    done = subprocess.run(
        [str(hg), *arguments], cwd=cwd, env=ENVIRONMENT, check=True, capture_output=True, text=True
    )
    return done.stdout


def build(name: str, folder: Path, verbose: bool = True) -> Path:
    """The repository `folder/name`; it is kept when it is there already."""
    shape = SHAPES[name]
    target = folder / name
    stamp = folder / f"{name}.json"
    wanted = json.dumps({"version": VERSION, "shape": repr(shape)})
    if stamp.exists() and stamp.read_text() == wanted and target.is_dir():
        return target
    if target.exists():
        raise click.ClickException(f"{target} is from another version: remove it first")
    folder.mkdir(parents=True, exist_ok=True)
    history = History(shape)
    with click.progressbar(
        length=shape.changesets, label=f"{name}: making changesets", file=sys.stderr
    ) as bar:
        done = 0
        for count in history.run():
            bar.update(count - done)
            done = count
    bundle = folder / f"{name}.hg"
    with bundle.open("wb") as out:
        out.writelines(format_bundle(history.groups(), history.count))
    if verbose:
        click.echo(f"{name}: hg unbundle of {bundle.stat().st_size:,} bytes", err=True)
    run_hg("init", str(target))
    run_hg("-R", str(target), "unbundle", "--quiet", str(bundle))
    bundle.unlink()
    run_hg("-R", str(target), "phase", "--public", "-r", "all()")
    run_hg("-R", str(target), "bookmark", "-r", "tip", "newest")
    run_hg("-R", str(target), "debugupdatecaches")
    stamp.write_text(wanted)
    return target


def without_newest(whole: Path, changesets: int, missing: int) -> Path:
    """The same without so many of its newest changesets; made anew when `whole` is."""
    target = whole.with_name(f"{whole.name}-without-{missing}")
    if target.exists() and target.stat().st_mtime > (whole / ".hg/requires").stat().st_mtime:
        return target
    shutil.rmtree(target, ignore_errors=True)
    bundle = whole.with_name(f"{target.name}.hg")
    revisions = f"0:{changesets - missing - 1}"
    run_hg("-R", str(whole), "bundle", "-q", "--base", "null", "-r", revisions, str(bundle))
    run_hg("init", str(target))
    run_hg("-R", str(target), "unbundle", "--quiet", str(bundle))
    bundle.unlink()
    run_hg("-R", str(target), "phase", "--public", "-r", "all()")
    run_hg("-R", str(target), "debugupdatecaches")
    return target


@click.command()
@click.argument("name", type=click.Choice(sorted(SHAPES)))
@click.argument("folder", type=click.Path(path_type=Path))
def main(name: str, folder: Path) -> None:
    """Make the benchmark repository NAME in FOLDER."""
    click.echo(build(name, folder))


if __name__ == "__main__":
    main()
