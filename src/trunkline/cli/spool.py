"""`trunkline spool`: what lies in the spool, and how to empty it."""

from __future__ import annotations

import os

import click

from trunkline.cli.failing import fail
from trunkline.config.settings import Settings, read_settings
from trunkline.errors import SettingsError, StoreError
from trunkline.spool.place import Place, default_folder, open_place
from trunkline.spool.room import Entry, clear, list_entries

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
AGES = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
NAME_SHOWN = 12  # digits; enough to tell them apart


@click.group(invoke_without_command=True)
@click.option("--settings", "settings_file", metavar="FILE.toml", help="Those of the server.")
@click.pass_context
def spool(context: click.Context, settings_file: str | None) -> None:
    """What the server has made once to send it to many. Without a command: list it.

    Use the server's own account and settings.
    """
    try:
        settings = read_settings(settings_file) if settings_file else Settings()
    except SettingsError as error:
        fail(error.text)
    context.obj = settings.spool.path or default_folder(os.environ)
    if context.invoked_subcommand is None:
        show(context.obj)


@spool.command("list")
@click.pass_obj
def list_(folder: str) -> None:
    """Each file: its size, how long ago it was last asked for, and how often."""
    show(folder)


@spool.command("clear")
@click.pass_obj
def clear_(folder: str) -> None:
    """Remove every file that isn't being read or made."""
    try:
        place = existing_place(folder)
        removed = clear(place) if place else []
        left = list_entries(place) if place else []
    except StoreError as error:
        fail(error.text)
    except OSError as error:
        fail(f"{folder}: {error.strerror}")
    click.echo(f"removed {describe(removed)}")
    if left:
        click.echo(f"in use: {describe(left)}")


def show(folder: str) -> None:
    try:
        place = existing_place(folder)
        now = place.now() if place else 0.0
        entries = list_entries(place) if place else []
    except StoreError as error:
        fail(error.text)
    except OSError as error:
        fail(f"{folder}: {error.strerror}")
    if entries:
        click.echo(f"{'name':<{NAME_SHOWN}} {'size':>10} {'last use':>9} {'uses':>7}  state")
    for entry in reversed(entries):
        state = "whole" if entry.is_whole else "being made"
        click.echo(
            f"{entry.name[:NAME_SHOWN]:<{NAME_SHOWN}} {size_text(entry.size):>10} "
            f"{age_text(now - entry.last_use):>9} {entry.uses:>7}  {state}"
        )
    click.echo(f"{folder}: {describe(entries)}")


def existing_place(folder: str) -> Place | None:
    """None: nothing was spooled yet. Raises: StoreError."""
    return open_place(folder) if os.path.isdir(folder) else None


def describe(entries: list[Entry]) -> str:
    count = len(entries)
    size = size_text(sum(entry.size for entry in entries))
    return f"{count} file{'' if count == 1 else 's'}, {size}"


def size_text(size: float) -> str:
    """Three digits and a unit."""
    for unit in UNITS:
        if size < 1000 or unit == UNITS[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"


def age_text(seconds: float) -> str:
    """In the largest unit that it fills; a time that lies ahead is no age."""
    for length, unit in AGES:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "now"
