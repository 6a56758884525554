"""`trunkline bundle`: a repository's clone bundles, made ahead of time, listed or taken away."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from trunkline.cli.failing import OneLine, fail
from trunkline.cli.serve import read_file
from trunkline.cli.spool import age_text, size_text
from trunkline.config.mercurial import check_overrides
from trunkline.config.settings import Settings
from trunkline.errors import SettingsError, TrunklineError

if TYPE_CHECKING:
    from trunkline.bundles.refresh import Refresh, Subject
    from trunkline.hg.bundle.bundle_file import Kind
    from trunkline.hg.wire.shelf import Edition, Listing

STEP_SECONDS = 10.0  # between lines where nobody looks at a terminal


@click.command(cls=OneLine)
@click.argument("repository", metavar="REPO")
@click.option("--settings", "settings_file", metavar="FILE.toml", help="Those of the server.")
@click.option(
    "--config",
    "config",
    multiple=True,
    metavar="SECTION.NAME=VALUE",
    help="Mercurial's own configuration, as for `serve`.",
)
@click.option("--again", is_flag=True, help="Make new ones though nothing has changed.")
@click.option("--list", "is_list", is_flag=True, help="Say which there are, and make none.")
@click.option("--remove", is_flag=True, help="Take them away, and make none.")
def bundle(
    repository: str,
    settings_file: str | None,
    config: tuple[str, ...],
    again: bool,
    is_list: bool,
    remove: bool,
) -> None:
    """Make the clone bundles of REPO ahead of time, whatever its size.

    The server makes them by itself; this is for before an upgrade, a class or a release, when many
    are going to clone at once. Use the server's own account and settings. Clients see them as soon
    as they are there; running servers need no word. Bundles hold public changesets only.
    """
    try:
        settings = read_file(settings_file) if settings_file else Settings()
        settings = replace(settings, config=[*settings.config, *config])
        check_overrides(settings.config)
        if again + is_list + remove > 1:
            raise SettingsError("--again, --list and --remove: one at a time")
        work(settings, repository, "list" if is_list else "remove" if remove else "make", again)
    except TrunklineError as error:
        fail(error.text)
    except OSError as error:
        fail(f"{error.filename or repository}: {error.strerror}")


def work(settings: Settings, repository: str, task: str, again: bool) -> None:
    """Raises: TrunklineError, OSError."""
    from trunkline.bundles.object_store import open_store  # these are slow to import
    from trunkline.bundles.place import bundles_folder
    from trunkline.bundles.refresh import Refresh
    from trunkline.hg.stock.configuration import close_readers
    from trunkline.hg.wire.shelf import Shelf

    progress = Progress()
    with ExitStack() as stack:
        stack.callback(close_readers)
        root = find_repository(repository)
        store = open_store(settings.bundle_store)
        address = None if store is None else store.address
        shelf = Shelf(bundles_folder(settings), address)
        if task == "list":
            show(root, shelf.listing(root))
            return
        refresh = Refresh(settings.bundles, shelf, store, progress.tell)
        stack.callback(refresh.close)
        if task == "remove":
            click.echo(f"{root}: removed {count(refresh.clear(root).editions)}")
            return
        edition = make(refresh, subject_of(root, settings), again)
        progress.end()
        if edition is None:
            click.echo(f"{root}: nothing public to make bundles of, or another process is at it")
        show(root, shelf.listing(root))
        tell_what_hides_them(settings, root)


def find_repository(path: str) -> str:
    """Raises: SettingsError."""
    root = os.path.realpath(path)
    if not os.path.isdir(os.path.join(root, ".hg")):
        raise SettingsError(f"{path}: not a repository")
    return root


def subject_of(root: str, settings: Settings) -> Subject:
    """Raises: TrunklineError; also for one that isn't read natively."""
    from trunkline.bundles.refresh import Subject
    from trunkline.config.mercurial import check
    from trunkline.hg.stock.bridge import Bridge
    from trunkline.hg.stock.configuration import read_config
    from trunkline.hg.wire.served import Served

    config = read_config(root, settings.config)
    check(config)
    served = Served.open(root, config, Bridge(root, settings.config))
    if served.repository is None:
        raise SettingsError(
            f"{root}: goes through the installed Mercurial, as {served.reason}; "
            "let `hg admin::clone-bundles-refresh` make bundles of it"
        )
    return Subject(root, config, served.repository.snapshot)


def make(refresh: Refresh, subject: Subject, again: bool) -> Edition | None:
    if again:
        refresh.clear(subject.root)
    return refresh.run(subject)


class Progress:
    """A bar for each bundle in a terminal; elsewhere a line now and then. On stderr."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._kind = ""
        self._begun = self._told = time.monotonic()

    def tell(self, kind: Kind, size: int, expected: int) -> None:
        now = time.monotonic()
        if kind.name != self._kind:
            self.end()
            self._kind, self._begun, self._told = kind.name, now, now
        if not self._is_terminal and now - self._told < STEP_SECONDS:
            return
        self._told = now
        text = f"{kind.name}: {size_text(size)} of about {size_text(max(size, expected))}"
        text += f", {age_text(now - self._begun)}"
        if self._is_terminal:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
        else:
            click.echo(text, err=True)

    def end(self) -> None:
        if self._kind and self._is_terminal:
            click.echo("", err=True)
        self._kind = ""


def show(root: str, listing: Listing) -> None:
    for edition in listing.editions:
        for each in edition.bundles:
            where = f"  s3 {each.key}" if each.key else ""
            click.echo(
                f"{each.kind:<7} {size_text(each.size):>10} {edition.changesets:>9} changesets "
                f"{age_text(time.time() - edition.made):>7}  {each.name}{where}"
            )
    click.echo(f"{root}: {count(listing.editions)}")


def count(editions: list[Edition]) -> str:
    found = sum(len(edition.bundles) for edition in editions)
    return f"{found} bundle{'' if found == 1 else 's'}"


def tell_what_hides_them(settings: Settings, root: str) -> None:
    if settings.bundles.make == "off":
        click.echo("[bundles] make is off: the server doesn't list them", err=True)
    if os.path.exists(f"{root}/.hg/clonebundles.manifest"):
        click.echo(f"{root}/.hg/clonebundles.manifest is listed in their place", err=True)
