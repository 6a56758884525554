"""One request on its way to an answer: where it wants to go, who it is of, what it brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from trunkline.access.current import Standing
from trunkline.access.identity import ANONYMOUS, Identity
from trunkline.hg.wire.command import Kind, Permission
from trunkline.hg.wire.table import COMMANDS
from trunkline.http.lfs import Wish
from trunkline.http.visit import Visit
from trunkline.work import Work

PAYLOAD_COMMANDS = (b"unbundle", b"putlfile")


@dataclass(frozen=True, slots=True)
class Way:
    """Where a request wants to go. `command` is None for a page, and for what is a `wish`."""

    names: tuple[str, ...]
    command: bytes | None
    wish: Wish | None = None

    @property
    def shown_command(self) -> str:
        """For the log: only words that are commands, the rest is whatever a client wrote."""
        return self.command.decode() if self.command in COMMANDS and self.command else ""

    @property
    def is_push(self) -> bool:
        command = COMMANDS.get(self.command or b"")
        is_push = command is not None and command.permission is Permission.PUSH
        return is_push or self.command in PAYLOAD_COMMANDS

    @property
    def is_short(self) -> bool:
        """Its answer is a text, and nothing is written."""
        command = COMMANDS.get(self.command or b"")
        return (
            command is not None
            and command.kind is Kind.TEXT
            and command.permission is Permission.PULL
        )

    @property
    def is_page(self) -> bool:
        return self.command is None and self.wish is None

    @property
    def has_message(self) -> bool:
        """Whether its body is one text, which is read as a whole."""
        return self.wish is not None and self.wish.has_message

    def has_payload(self, method: str) -> bool:
        """Whether a body of any length may come, which is taken as it comes."""
        if self.wish is not None:
            return method == "PUT"
        return self.command in PAYLOAD_COMMANDS and method == "POST"


NOWHERE = Way((), None)


@dataclass(slots=True)
class Errand:
    """One request on its way to an answer. `standing`: what holds about access for all of it.
    `may_wait`: its thread is for those that wait for other processes.
    """

    visit: Visit
    way: Way
    standing: Standing
    who: Identity = ANONYMOUS
    is_greeted: bool = False  # `who` is known
    arguments: bytes = b""
    payload: Iterator[bytes] | None = None
    work: Work = field(default_factory=Work)
    may_wait: bool = False

    @property
    def judged_method(self) -> str:
        """What rules about pushes are asked with: they know POST alone."""
        return self.visit.method if self.way.wish is None else "POST"
