"""What one client sends upstream: in order, pipelined, over as many connections as it takes."""

from __future__ import annotations

import asyncio
from collections import deque

from trunkline.svn.gateway.exchange import Exchange, UpstreamLost
from trunkline.svn.gateway.link import Link
from trunkline.svn.gateway.upstream import Upstream

WINDOW = 8 << 20  # bytes sent and not answered: a fast link at 300 ms is still full
QUEUE = 16 << 20  # bytes waiting; past it the client waits, too
LOW = 50  # requests left of a connection: the next one is made meanwhile
REPEATS = 3  # of one request: what kept connections there are may be lost with the first
CONNECTION_SCHEMES = (b"ntlm", b"negotiate")  # they log in a connection, not a request


class Channel:
    """Answers come in order. A request whose answer is missing is sent again only where that does
    no harm: see `_lost`."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self._queue: deque[Exchange] = deque()
        self._queued = 0  # bytes
        self._link: Link | None = None
        self._changed = asyncio.Event()
        self._is_own = False  # the connection is logged in
        self._is_closed = False
        self._task = asyncio.create_task(self._run())

    def send(self, exchange: Exchange) -> None:
        scheme = (exchange.request.header(b"authorization") or b"").split(b" ")[0].lower()
        self._is_own |= scheme in CONNECTION_SCHEMES
        self._queue.append(exchange)
        self._queued += exchange.size
        self._changed.set()

    async def wait_for_room(self) -> None:
        while self._queued > QUEUE and not self._is_closed:
            await asyncio.sleep(0.01)

    def close(self) -> None:
        self._is_closed = True
        self._changed.set()
        self._task.cancel()
        for exchange in [*self._queue, *(self._link.unanswered if self._link else ())]:
            exchange.fail(UpstreamLost("closed"))
        self._queue.clear()
        if self._link is not None:
            if self._is_own:
                self._link.close()
            else:
                self.upstream.keep(self._link)

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            self._look_at_link()
            if not self._queue:
                await self._changed.wait()
                continue
            try:
                is_sent = await self._send_next()
            except UpstreamLost as error:
                self._fail_all(error)
                continue
            if not is_sent:
                await self._changed.wait()

    async def _send_next(self) -> bool:
        """False: something has to happen first. Raises: UpstreamLost."""
        exchange = self._queue[0]
        if exchange.is_dropped:
            self._pop().finish()
            return True
        link = self._link
        if link is None or (not link.is_usable and not link.unanswered):
            link = self._link = await self.upstream.connect(fresh=self._is_own)
            link.on_change = self._changed.set
        if not self._has_room(link, exchange):
            return False
        await link.send(self._pop(), self.upstream.host)
        if link.left < LOW and self._queue and not self._is_own:
            self.upstream.warm()
        return True

    def _has_room(self, link: Link, exchange: Exchange) -> bool:
        if not link.unanswered:
            return link.is_usable
        is_alone = b"HEAD" in (exchange.request.method, link.unanswered[-1].request.method)
        return (
            link.is_usable
            and not is_alone
            and self.upstream.may_pipeline
            and link.unanswered_size < WINDOW
        )

    def _pop(self) -> Exchange:
        exchange = self._queue.popleft()
        self._queued -= exchange.size
        return exchange

    def _look_at_link(self) -> None:
        link = self._link
        if link is None or not (link.is_lost or (link.is_last and self._is_answered(link))):
            return
        self._link = None
        link.close()
        missing = list(link.unanswered)
        link.unanswered.clear()
        # One that said it is the last has read no further.
        again = missing if link.is_last else self._lost(link, missing)
        for exchange in reversed(again):
            self._queue.appendleft(exchange)
            self._queued += exchange.size

    def _is_answered(self, link: Link) -> bool:
        return not link.unanswered or link.unanswered[0].head is None

    def _lost(self, link: Link, missing: list[Exchange]) -> list[Exchange]:
        """What may be sent again, of what wasn't answered.

        An upstream that goes away between two answers either doesn't pipeline, or closed an idle
        connection. Nothing of a commit is harmed by coming twice to the same transaction but the
        MERGE: made a second time, it is an error.
        """
        is_idle_close = link.was_idle and (link.answered > 0 or link.was_kept)
        if missing and not link.was_idle:
            self.upstream.pipeline_broke(link.pipelined)
        again = []
        lost = UpstreamLost(f"the connection to {self.upstream.url} was lost")
        for at, exchange in enumerate(missing):
            is_merge = exchange.request.method == b"MERGE"
            is_harmless = is_idle_close or not link.was_idle or at > 0
            may_repeat = is_harmless and not is_merge and exchange.repeats < REPEATS
            if not (may_repeat and exchange.begin_anew()):
                exchange.fail(lost)
                continue
            exchange.repeats += 1
            again.append(exchange)
        return again

    def _fail_all(self, error: UpstreamLost) -> None:
        while self._queue:
            self._pop().fail(error)
