"""One request on its way to an answer: where it wants to go, who it is of, what it brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from trunkline.access.current import Standing
from trunkline.access.identity import ANONYMOUS, Identity
from trunkline.hg.wire.command import Kind, Permission
from trunkline.hg.wire.table import COMMANDS
from trunkline.http.visit import Visit
from trunkline.work import Work

PAYLOAD_COMMAND = b"unbundle"


@dataclass(frozen=True, slots=True)
class Way:
    """Where a request wants to go. `command` is None for a page."""

    names: tuple[str, ...]
    command: bytes | None

    @property
    def shown_command(self) -> str:
        """For the log: only words that are commands, the rest is whatever a client wrote."""
        return self.command.decode() if self.command in COMMANDS and self.command else ""

    @property
    def is_push(self) -> bool:
        command = COMMANDS.get(self.command or b"")
        return command is not None and command.permission is Permission.PUSH

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
    def has_payload(self) -> bool:
        return self.command == PAYLOAD_COMMAND


@dataclass(slots=True)
class Errand:
    """One request on its way to an answer. `standing`: what holds about access for all of it.
    `may_wait`: its thread is for those that wait for other processes.
    """

    visit: Visit
    way: Way
    standing: Standing
    who: Identity = ANONYMOUS
    arguments: bytes = b""
    payload: Iterator[bytes] | None = None
    work: Work = field(default_factory=Work)
    may_wait: bool = False
