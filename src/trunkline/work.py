"""What one request may cost, and whether anybody still waits for it."""

from __future__ import annotations

from trunkline.errors import ClientGone, PeerError

WALK_LIMIT = 10_000_000  # revisions; about a second of CPU


class Work:
    """Handed to what works long in a thread, which calls `look` or `walk` now and then.

    `leave` may be called from any thread: the work ends at its next look. `commands` are those
    that were begun.
    """

    __slots__ = ("_left", "_limit", "commands", "is_gone")

    def __init__(self, walk_limit: int = WALK_LIMIT) -> None:
        self._limit = self._left = walk_limit
        self.commands: set[bytes] = set()
        self.is_gone = False

    def begin(self, command: bytes) -> None:
        """One of the protocol, of a batch too. Raises: ClientGone."""
        self.look()
        self.commands.add(command)

    def leave(self, *_: object) -> None:
        """The client is gone."""
        self.is_gone = True

    def look(self) -> None:
        """Raises: ClientGone."""
        if self.is_gone:
            raise ClientGone("the client went away")

    def walk(self, revisions: int) -> None:
        """So many were walked. Raises: PeerError past the limit of one request; ClientGone."""
        self.look()
        self._left -= revisions
        if self._left < 0:
            raise self.refusal()

    def refusal(self) -> Exception:
        return PeerError(f"this would walk more than {self._limit} revisions: ask for less at once")
