"""Who a visit is of, without keeping the event loop from others while passwords are hashed."""

from __future__ import annotations

from trunkline.access.challenge import challenges
from trunkline.access.current import Standing
from trunkline.access.gate import Shown
from trunkline.access.identity import ANONYMOUS, Identity
from trunkline.hg.wire.answer import Answer
from trunkline.http.threads import Threads
from trunkline.http.visit import Visit

UNAUTHORIZED = 401


class Reception:
    """For one event loop. Has threads that hash passwords, from the first that comes; guests take
    turns at them, and one is left for others.
    """

    def __init__(self) -> None:
        self._threads: Threads | None = None

    async def identify(self, visit: Visit, guest: str, standing: Standing) -> Identity:
        """`guest` is whose failures are counted. Raises: PeerError."""
        if b"authorization" not in visit.headers and not visit.is_proxied:
            return ANONYMOUS
        shown = Shown(visit.headers, guest, visit.is_proxied, visit.repeated)
        known = standing.gate.known(shown)
        if known is not None:
            return known
        if self._threads is None:
            count = standing.auth.threads
            self._threads = Threads(count, "login", max(1, count - 1))
        return await self._threads.run_for(guest, standing.gate.login, shown)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.close()


def challenge(answer: Answer, standing: Standing, visit: Visit) -> None:
    """Add the ways to log in to an answer that is for want of a login."""
    if answer.status == UNAUTHORIZED and standing.auth.has_logins:
        user_agent = visit.headers.get(b"user-agent", b"")
        answer.headers.extend(challenges(standing.auth.realm, user_agent))
