"""What a command declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Reply


class Permission(Enum):
    PULL = "pull"
    PUSH = "push"


class Kind(Enum):
    """Of a reply: see `replies.py`."""

    TEXT = "text"
    PACKED = "packed"
    RAW = "raw"
    FILE = "file"


Check = Callable[[Exchange, Arguments], object]
Run = Callable[[Exchange, Arguments], Reply]


def as_it_is(_: Exchange, __: Arguments) -> None:
    """Any arguments will do."""


@dataclass(frozen=True, slots=True)
class Command:
    """`arguments` ends in "*" where any others are taken too. `permission` has no default.

    `is_ours`: its `run` serves bridged repositories as well; for the other commands these are
    asked through the bridge. `is_read_in_pieces`: stock clients read the reply so, which makes
    packing a long one possible (docs/notes/compressed-texts.md). `check` finds what is wrong with
    the arguments before the bridge is asked, with the words that `run` has for it.
    `is_kept`: the reply depends on nothing but the arguments, the configuration and `State`.
    """

    name: bytes
    arguments: tuple[bytes, ...]
    permission: Permission
    kind: Kind
    run: Run
    is_ours: bool = False
    is_read_in_pieces: bool = False
    check: Check = as_it_is
    is_kept: bool = False


def table(commands: Iterable[Command]) -> Mapping[bytes, Command]:
    found: dict[bytes, Command] = {}
    for command in commands:
        assert command.name not in found, f"two commands are named {command.name!r}"
        found[command.name] = command
    return found
