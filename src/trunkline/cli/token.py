"""`trunkline token`: secrets for machines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from trunkline.access.token_file import change_tokens, forget_use, last_use, read_tokens
from trunkline.access.tokens import Token, Tokens, make_token
from trunkline.cli.failing import OneLine, fail
from trunkline.cli.table import format_table
from trunkline.config.auth import check_globs
from trunkline.config.settings import read_settings
from trunkline.errors import SettingsError

DAYS = 90
DAYS_LIMIT = 36_500


def of_a_file(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--tokens", "token_file", metavar="FILE", help="The file of tokens."),
        click.option(
            "--settings",
            "settings_file",
            metavar="FILE.toml",
            help="That names it: auth.token_file.",
        ),
    ):
        command = option(command)
    return command


@click.group()
def token() -> None:
    """Secrets that machines log in with: `Authorization: Bearer`, or as their user's password.

    The file holds hashes of them. A running server takes a change up by itself.
    """


@token.command(cls=OneLine)
@click.argument("user")
@click.option(
    "--repository",
    "repositories",
    metavar="GLOB",
    multiple=True,
    default=["**"],
    show_default=True,
    help="URL paths that it is good for; as in [[access]], may be given again.",
)
@click.option("--write", is_flag=True, help="It may write, too, where the user may.")
@click.option(
    "--days",
    type=click.IntRange(0, DAYS_LIMIT),
    default=DAYS,
    show_default=True,
    help="It is good for; 0 is without end.",
)
@click.option("--note", default="", help="What it is for.")
@of_a_file
def create(
    user: str,
    repositories: tuple[str, ...],
    write: bool,
    days: int,
    note: str,
    token_file: str | None,
    settings_file: str | None,
) -> None:
    """Make a token that is USER within some repositories, and print it: once, it is kept nowhere.

    It never allows more than the rules allow its user.
    """
    path = find_file(token_file, settings_file)
    expires = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days) if days else None
    try:
        check_globs(repositories)
        made = make_token(user, repositories, write, expires, note)
        change_tokens(path, lambda old: Tokens({**old.by_id, made.token.id: made.token}))
    except ValueError as error:
        fail(str(error))
    except SettingsError as error:
        fail(error.text)
    print(f"{made.token.id}: {described(made.token)}", file=sys.stderr)
    print(made.text)


@token.command("list", cls=OneLine)
@of_a_file
def show(token_file: str | None, settings_file: str | None) -> None:
    """What tokens there are. `last used` may be five minutes old."""
    path = find_file(token_file, settings_file)
    try:
        found = read_tokens(path).by_id.values()
    except SettingsError as error:
        fail(error.text)
    head = ("id", "user", "may", "repositories", "created", "expires", "last used", "note")
    print(format_table(head, [row(path, one) for one in found]))


@token.command(cls=OneLine)
@click.argument("ids", metavar="ID ...", nargs=-1, required=True)
@of_a_file
def revoke(ids: tuple[str, ...], token_file: str | None, settings_file: str | None) -> None:
    """End tokens. Requests that are running go on."""
    path = find_file(token_file, settings_file)

    def without(old: Tokens) -> Tokens:
        missing = [name for name in ids if name not in old.by_id]
        if missing:
            raise SettingsError(f"no token {missing[0]} in {path}")
        return Tokens({name: one for name, one in old.by_id.items() if name not in ids})

    try:
        change_tokens(path, without)
    except SettingsError as error:
        fail(error.text)
    for name in ids:
        forget_use(path, name)


def find_file(token_file: str | None, settings_file: str | None) -> str:
    if token_file:
        return token_file
    if not settings_file:
        fail("which file of tokens? Say --settings FILE.toml or --tokens FILE")
    try:
        path = read_settings(settings_file).auth.token_file
    except SettingsError as error:
        fail(error.text)
    return path or fail(f"{settings_file}: no auth.token_file is set")


def row(path: str, one: Token) -> tuple[str, ...]:
    used = last_use(path, one.id)
    return (
        one.id,
        one.user,
        "write" if one.write else "read",
        " ".join(one.repositories),
        day(one.created),
        end(one, datetime.now(UTC)),
        f"{used:%Y-%m-%d %H:%M}" if used else "never",
        one.note,
    )


def described(one: Token) -> str:
    may = "reads and writes" if one.write else "reads"
    return f"{one.user} {may} {' '.join(one.repositories)}, expires: {end(one, one.created)}"


def end(one: Token, now: datetime) -> str:
    if one.expires is None:
        return "never"
    return f"{day(one.expires)} (over)" if one.is_expired(now) else day(one.expires)


def day(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d}"
