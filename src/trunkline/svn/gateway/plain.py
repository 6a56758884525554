"""A commit to a stock server, as the plain requests it is.

The upstream sees what it would have seen without a gateway, in the same order and on one
connection, but without the waits in between.
"""

from __future__ import annotations

import asyncio
import logging

from trunkline.svn.gateway import failure, lookup
from trunkline.svn.gateway.channel import Channel
from trunkline.svn.gateway.commit import Commit
from trunkline.svn.gateway.exchange import Exchange, UpstreamLost
from trunkline.svn.gateway.failure import Failure
from trunkline.svn.gateway.message import Body, Request
from trunkline.svn.gateway.repeated import Repeated
from trunkline.svn.gateway.upstream import Repository

log = logging.getLogger(__name__)

ABORT_SECONDS = 30  # for the removal of an upstream transaction
LOOKUP_WAITS = (0, 1, 2, 4, 8, 15)  # seconds before each attempt to find a lost answer


class PlainCommit(Commit):
    def __init__(
        self, channel: Channel, repository: Repository, txn: bytes, txr: bytes, post: Request
    ) -> None:
        super().__init__(channel, repository, txn, txr, post)
        self._failure: Failure | None = None
        self._repeated = Repeated(repository.root)
        self._waiting: set[Exchange] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_merging = False
        self._removal: asyncio.Task[None] | None = None
        self._trace = lookup.make_trace(post, repository.youngest)

    async def take(self, request: Request, status: int) -> None:
        self.send(request, status)
        await self.channel.wait_for_room()

    def send(self, request: Request, status: int) -> None:
        if self._failure is not None:
            request.body.close()
            return
        if request.method != b"POST" and request.target != self.txn:
            self._trace.add(self.path_in(request))
        exchange = Exchange(request, lambda done: self._answered(done, status))
        request.want_plain()
        exchange.can_wait = request.method != b"POST"
        self.progress.bytes_taken += exchange.size
        self._waiting.add(exchange)
        self._idle.clear()
        self.channel.send(exchange)

    def abort(self) -> None:
        """Take the upstream's transaction away, unless a MERGE has been sent."""
        if self.is_over or self._removal is not None or self._is_merging:
            return
        self._fail(failure.lost("aborted"))
        self._removal = asyncio.create_task(self._remove())

    async def finish(self) -> None:
        """The upstream's transaction is gone afterwards, committed or removed."""
        self.abort()
        if self._removal is not None:
            await asyncio.shield(self._removal)

    # Answers of the upstream

    def _answered(self, exchange: Exchange, expected: int) -> None:
        self._waiting.discard(exchange)
        if not self._waiting:
            self._idle.set()
        if exchange.is_dropped or self._failure is not None:
            return
        request = exchange.request
        self.progress.bytes_sent += exchange.size
        self.progress.files_sent += request.method == b"PUT"
        path = self.path_in(request)
        found = failure.find_failure(exchange, path, expected)
        if found is not None:
            if self._repeated.excuses(exchange, path, found, self.touched):
                return
            if request.method == b"POST":
                credentials = request.header(b"authorization") or b""
                self.channel.upstream.refuse(self.repository, credentials)
            self._fail(found)

    def _fail(self, why: Failure) -> None:
        self._failure = self._failure or why
        for exchange in self._waiting:
            exchange.is_dropped = True

    async def merge(self, request: Request) -> bytes:
        await self._idle.wait()
        why = self._failure or await self._repeated.settle(self.channel, self.credentials())
        if why is not None:
            await self.finish()
            return why.format()
        self._is_merging = True
        try:
            return await self._merge_or_look_up(request)
        finally:
            self._is_merging = False

    async def _merge_or_look_up(self, request: Request) -> bytes:
        request.want_plain()
        body, headers = request.body.read(), request.headers
        for wait in LOOKUP_WAITS:
            try:
                if wait:
                    await asyncio.sleep(wait)
                    done = await self._look_up()
                    if done is not None:
                        self.is_over = True
                        return done
                exchange = Exchange(Request(b"MERGE", request.target, headers, Body(body)))
                self.channel.send(exchange)
                head = await exchange.wait_head()
                said = await exchange.whole()
            except UpstreamLost as error:
                log.warning("%s: looking whether it was committed", error.text)
                continue
            if head.status == 200:
                self.is_over = True
                return head.format(b"Content-Length: %d\r\n" % len(said)) + said
            if head.status == 404 and wait:  # the first MERGE was on its way still
                continue
            path = self.path(request.target) or b""
            if failure.is_explained(said):
                return Failure(head.status, said).format()
            return failure.bare(b"MERGE", head.status, path).format()
        return failure.lost(
            "the server went away at the end of the commit; it may have been committed or not: "
            "`svn log` tells"
        ).format()

    async def _look_up(self) -> bytes | None:
        """None: it isn't committed, and can be. Raises: UpstreamLost."""
        headers = self.credentials()
        if await lookup.is_open(self.channel, self.txr, headers):
            return None
        found = await lookup.find(self.channel, self.repository, self._trace, headers)
        if found is not None:
            return found.format()
        return failure.lost("the server lost the transaction; nothing was committed").format()

    async def _remove(self) -> None:
        try:
            async with asyncio.timeout(ABORT_SECONDS):
                await self._idle.wait()
                exchange = Exchange(Request(b"DELETE", self.txn, self.credentials()))
                self.channel.send(exchange)
                await exchange.whole()
        except (UpstreamLost, TimeoutError):
            log.warning("an upstream transaction is left behind: %s", self.txn.decode())
        self.is_over = True
