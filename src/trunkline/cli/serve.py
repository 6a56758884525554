"""`trunkline serve`: what was asked for, checked before anything listens."""

from __future__ import annotations

import dataclasses
import os
from typing import Literal

import click
from msgspec.structs import replace

from trunkline.access.current import Current
from trunkline.cli.failing import OneLine, fail, say
from trunkline.config.mercurial import check, check_overrides
from trunkline.config.mistakes import doubtful_sections
from trunkline.config.settings import WORKERS_LIMIT, Settings, read_settings
from trunkline.errors import SettingsError, StoreError
from trunkline.hg.stock.configuration import close_readers, read_base_config, read_config
from trunkline.hg.stock.installed import find_hg
from trunkline.http.listen import Address, Claim, parse_listen
from trunkline.http.roots import mount_paths
from trunkline.http.tls import check_tls

LOG_MODE = 0o640  # of a new access log, as the workers would make it


@click.command(cls=OneLine)
@click.argument("paths", metavar="[PATH ...]", nargs=-1)
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="HOST:PORT, [IPv6]:PORT or unix:PATH; port 0 takes a free one.",
)
@click.option(
    "--workers",
    type=click.IntRange(0, WORKERS_LIMIT),
    metavar="N",
    help="Worker processes; 0 is one for each core, 4 at most.",
)
@click.option("--settings", "settings_file", metavar="FILE.toml", help="More settings.")
@click.option(
    "--config",
    "config",
    multiple=True,
    metavar="SECTION.NAME=VALUE",
    help="Mercurial's own configuration, over what the repositories say.",
)
@click.option(
    "--allow-write",
    type=click.Choice(["authenticated", "anonymous"]),
    help="Who may write. `anonymous` is everyone who may read, to all that is served, whatever "
    "web.allow-push, web.deny_push and web.push_ssl say.",
)
@click.option("--insecure", is_flag=True, help="Let `anonymous` write from other machines, too.")
def serve(
    paths: tuple[str, ...],
    listen: str | None,
    workers: int | None,
    settings_file: str | None,
    config: tuple[str, ...],
    allow_write: Literal["authenticated", "anonymous"] | None,
    insecure: bool,
) -> None:
    """Serve Mercurial and Subversion repositories over HTTP.

    A PATH that is a repository is served at /. A PATH that is a folder has every repository below
    it served at its path in the folder, found when it is asked for; / lists them. Of several PATHs
    each is served under its own base name. Without a PATH: those of the settings file, else the
    current folder.

    Prints `listening on http://HOST:PORT` (or `unix:PATH`) when it is ready. SIGTERM and SIGINT
    let running replies end; SIGHUP has the access log opened anew.
    """
    try:
        settings = read_file(settings_file) if settings_file else Settings()
        server = settings.server
        settings = replace(
            settings,
            paths=list(paths) or settings.paths or ["."],
            config=[*settings.config, *config],
            allow_write=allow_write or settings.allow_write,
            insecure=insecure or settings.insecure,
            server=replace(
                server,
                listen=server.listen if listen is None else listen,
                workers=server.workers if workers is None else workers,
            ),
        )
        claim = check_settings(settings)
    except SettingsError as error:
        fail(error.text)
    for line in doubtful_sections(settings.config):
        say(line)
    from trunkline.http.server import serve as run  # Granian is slow to import

    run(settings, claim, settings_file or "")


def read_file(path: str) -> Settings:
    """Raises: SettingsError, which names the file."""
    settings = read_settings(path)
    try:
        check_overrides(settings.config)
    except SettingsError as error:
        raise SettingsError(f"{path}: config: {error.text}") from None
    return settings


def check_settings(settings: Settings) -> Claim:
    """All that can be wrong before a worker starts. Raises: SettingsError."""
    roots = mount_paths(settings.paths)
    check_overrides(settings.config)
    check_tls(settings.tls)
    address = check_listen(settings.server.listen)
    if settings.tls.certificate:
        address = dataclasses.replace(address, scheme="https")
    check_write(settings, address)
    check_log(settings)
    check_bundle_store(settings)
    Current(settings)  # its password and token files
    claim = Claim(address)
    check_mercurial(settings, roots.single_repository)
    return claim


def check_listen(text: str) -> Address:
    try:
        return parse_listen(text)
    except SettingsError as error:
        raise SettingsError(
            f"--listen (server.listen): {error.text}; 127.0.0.1:8000 is the default"
        ) from None


def check_write(settings: Settings, address: Address) -> None:
    if settings.allow_write == "anonymous" and not address.is_local and not settings.insecure:
        raise SettingsError(
            f"--allow-write anonymous on {address.url} would let everyone who reaches it write; "
            "listen on 127.0.0.1, or say --insecure, too"
        )


def check_log(settings: Settings) -> None:
    target = settings.log.access
    if target in ("", "-"):
        return
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, LOG_MODE))
    except OSError as error:
        raise SettingsError(f"log.access: {target}: {error.strerror}") from None


def check_bundle_store(settings: Settings) -> None:
    """Raises: SettingsError; not for a store that doesn't answer, which may come up later."""
    if settings.bundle_store.url and settings.bundles.make != "off":
        from trunkline.bundles.object_store import open_store  # slow to import

        open_store(settings.bundle_store)


def check_mercurial(settings: Settings, repository: str | None) -> None:
    """That `hg` is there, and the configuration that all repositories share is sound; of one that
    is served alone, its own.
    """
    try:
        find_hg()
        if repository is None:
            check(read_base_config(settings.config))
        else:
            check(read_config(repository, settings.config))
    except StoreError as error:
        raise SettingsError(error.text) from None
    finally:
        close_readers()
