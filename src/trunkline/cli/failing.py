"""What a command says to who runs it, and how it ends that can't do what was asked."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

BAD_USAGE = 2


def fail(text: str) -> NoReturn:
    """One line on stderr, exit status 2."""
    say(text)
    raise SystemExit(BAD_USAGE)


def say(text: str) -> None:
    line = " ".join(text.split())
    print(f"trunkline: {line}".encode("utf-8", "backslashreplace").decode(), file=sys.stderr)


class OneLine(click.Command):
    """What is wrong with an option is told as every other mistake is: in one line."""

    def make_context(self, *words: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*words, **extra)
        except click.UsageError as error:
            fail(error.format_message())
