"""What a command says to who runs it, and how it ends that can't do what was asked."""

from __future__ import annotations

import sys
from typing import NoReturn

BAD_USAGE = 2


def fail(text: str) -> NoReturn:
    """One line on stderr, exit status 2."""
    say(text)
    raise SystemExit(BAD_USAGE)


def say(text: str) -> None:
    line = " ".join(text.split())
    print(f"trunkline: {line}".encode("utf-8", "backslashreplace").decode(), file=sys.stderr)
