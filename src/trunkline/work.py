"""What one request may cost, and whether anybody still waits for it."""

from __future__ import annotations

from trunkline.errors import ClientGone, PeerError

WALK_LIMIT = 10_000_000  # revisions; about a second of CPU


class Work:
    """Handed to what works long in a thread, which calls `look` or `walk` now and then.

    `leave` may be called from any thread: the work ends at its next look.
    """

    __slots__ = ("_left", "_limit", "is_gone")

    def __init__(self, walk_limit: int = WALK_LIMIT) -> None:
        self._limit = self._left = walk_limit
        self.is_gone = False

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
            raise PeerError(
                f"this would walk more than {self._limit} revisions: ask for less at once"
            )
