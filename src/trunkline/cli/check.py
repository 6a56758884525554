"""`trunkline check`: what is served to whom, and what about it looks unsafe."""

from __future__ import annotations

from collections.abc import Iterator

import click
from msgspec.structs import replace

from trunkline.access.current import Current
from trunkline.access.doubts import Facts, find_doubts
from trunkline.access.htpasswd import NO_PASSWORDS, parse_passwords
from trunkline.access.judge import Judge
from trunkline.access.summary import Summary, summarise, summarise_svn
from trunkline.access.token_file import read_tokens
from trunkline.access.tokens import NO_TOKENS
from trunkline.access.watched import read_file
from trunkline.cli.failing import OneLine, fail
from trunkline.cli.table import format_table
from trunkline.config.hgconfig import HgConfig
from trunkline.config.mercurial import check_overrides
from trunkline.config.settings import Settings, read_settings
from trunkline.errors import SettingsError, StoreError
from trunkline.hg.stock.configuration import close_readers, read_config
from trunkline.http.catalogue import Budget, says_something, walk
from trunkline.http.listen import parse_listen
from trunkline.http.roots import Roots, mount_paths, svn_identity
from trunkline.http.tls import check_tls

UNSAFE = 1  # exit status


@click.command(cls=OneLine)
@click.argument("paths", metavar="[PATH ...]", nargs=-1)
@click.option("--settings", "settings_file", metavar="FILE.toml", help="As of `trunkline serve`.")
def check(paths: tuple[str, ...], settings_file: str | None) -> None:
    """Say what would be served to whom, and what looks unsafe.

    Nothing is changed and nothing listens. The exit status is 0 when nothing looks unsafe, 1 when
    something does, and 2 when it couldn't be served.
    """
    try:
        settings = read_settings(settings_file) if settings_file else Settings()
        settings = replace(settings, paths=list(paths) or settings.paths or ["."])
        facts = look(settings, settings_file or "")
    except SettingsError as error:
        fail(error.text)
    finally:
        close_readers()
    rows = [row(one) for one in facts.served]
    print(format_table(("repository", "reads", "writes", "by"), rows))
    doubts = find_doubts(facts)
    if doubts:
        print()
    for doubt in sorted(doubts, key=lambda doubt: not doubt.is_unsafe):
        print(f"{'unsafe' if doubt.is_unsafe else 'note'}: {doubt.text}")
    raise SystemExit(UNSAFE if any(doubt.is_unsafe for doubt in doubts) else 0)


def look(settings: Settings, settings_file: str) -> Facts:
    """Raises: SettingsError, as the start of a server would."""
    roots = mount_paths(settings.paths)
    check_overrides(settings.config)
    check_tls(settings.tls)
    address = parse_listen(settings.server.listen)
    auth = settings.auth
    judge = Current(settings).get().judge
    return Facts(
        settings,
        address.is_local,
        settings_file,
        read_file(auth.password_file, parse_passwords) if auth.password_file else NO_PASSWORDS,
        read_tokens(auth.token_file) if auth.token_file else NO_TOKENS,
        sorted(summaries(roots, settings, judge), key=lambda one: one.name),
    )


def summaries(roots: Roots, settings: Settings, judge: Judge) -> Iterator[Summary]:
    """Raises: SettingsError for a repository whose configuration can't be read."""
    common: HgConfig | None = None  # of all that say nothing themselves
    budget = Budget(settings.index.entries)
    for mount in roots.mounts:
        for name, real in walk(mount, budget):
            if svn_identity(real) is not None:
                yield summarise_svn(judge, name, bool(settings.subversion.access_file))
                continue
            try:
                if says_something(real):
                    config = read_config(real, settings.config)
                else:
                    config = common = common or read_config(real, settings.config)
            except StoreError as error:
                raise SettingsError(error.text) from None
            yield summarise(judge, name, config)


def row(one: Summary) -> tuple[str, ...]:
    words = (f"rule {one.rule}", one.beside) if one.rule else (one.beside, "defaults")
    return one.name or "/", str(one.reads), str(one.writes), " and ".join(filter(None, words))
