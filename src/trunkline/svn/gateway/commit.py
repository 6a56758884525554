"""A commit on its way to a stock server: answered at once, sent on as the plain requests it is.

The upstream sees what it would have seen without a gateway, in the same order and on one
connection, but without the waits in between.
"""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import unquote_to_bytes

from trunkline.svn.gateway import failure, lookup
from trunkline.svn.gateway.channel import Channel
from trunkline.svn.gateway.exchange import Exchange, UpstreamLost
from trunkline.svn.gateway.failure import XML, Failure
from trunkline.svn.gateway.message import Body, Headers, Request, response
from trunkline.svn.gateway.upstream import Repository

log = logging.getLogger(__name__)

ABORT_SECONDS = 30  # for the removal of an upstream transaction
LOOKUP_WAITS = (0, 1, 2, 4, 8, 15)  # seconds before each attempt to find a lost answer

GOOD = {
    b"POST": 201,
    b"MKCOL": 201,
    b"COPY": 201,
    b"DELETE": 204,
    b"PUT": 201,  # or 204, see `_expected`
    b"PROPPATCH": 207,
}
OF_OLD_FILES = (b"x-svn-version-name", b"x-svn-base-fulltext-md5")
PATCHED = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:"><D:response>'
    b"<D:href>%s</D:href><D:propstat><D:prop/><D:status>HTTP/1.1 200 OK</D:status></D:propstat>"
    b"</D:response></D:multistatus>"
)


class Commit:
    """`txn` and `txr` are URL paths: the transaction's own, and that of its root."""

    def __init__(
        self, channel: Channel, repository: Repository, txn: bytes, txr: bytes, post: Request
    ) -> None:
        self.channel = channel
        self.txn = txn
        self.txr = txr
        self.is_over = False  # committed, or removed
        self._repository = repository
        self._failure: Failure | None = None
        self._begun = post  # whose credentials the gateway's own requests bear
        self._copied: set[bytes] = set()  # URL paths
        self._waiting: set[Exchange] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_merging = False
        self._removal: asyncio.Task[None] | None = None
        self._trace = lookup.make_trace(post, repository.youngest)

    def owns(self, request: Request) -> bool:
        if request.target in (self.txn, self.txr):
            return request.method in GOOD
        if request.target.startswith(self.txr + b"/"):
            return request.method in GOOD
        if request.method == b"HEAD":
            return b"/!svn/" not in request.target and self._path(request.target) is not None
        return request.method == b"MERGE" and self.txn in request.body.read()

    async def answer(self, request: Request) -> bytes:
        """The whole answer to one that it owns."""
        if request.method == b"MERGE":
            return await self._merge(request)
        if request.method == b"HEAD":  # is the path free? The status of the PUT will tell
            return response(404)
        if request.method == b"DELETE" and request.target == self.txn:
            await self.finish()
            return response(204)
        status = self._expected(request)
        self.send(request)
        await self.channel.wait_for_room()
        return answered(request, status)

    def _expected(self, request: Request) -> int:
        """The status that the client wants, and that the upstream is held to."""
        if request.method == b"COPY":
            self._copied.add(path_of(request.header(b"destination") or b""))
        if request.method != b"PUT":
            return GOOD[request.method]
        is_old = request.target in self._copied or any(map(request.header, OF_OLD_FILES))
        return 204 if is_old else 201

    def send(self, request: Request) -> None:
        if self._failure is not None:
            request.body.close()
            return
        if request.method != b"POST" and request.target != self.txn:
            self._trace.add(self._in_repository(request))
        expected = self._expected(request)
        exchange = Exchange(request, lambda done: self._answered(done, expected))
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
        path = self._in_repository(request)
        found = failure.find_failure(exchange, path, expected)
        if found is not None:
            if request.method == b"POST":
                credentials = request.header(b"authorization") or b""
                self.channel.upstream.refuse(self._repository, credentials)
            self._fail(found)

    def _fail(self, why: Failure) -> None:
        self._failure = self._failure or why
        for exchange in self._waiting:
            exchange.is_dropped = True

    async def _merge(self, request: Request) -> bytes:
        await self._idle.wait()
        if self._failure is not None:
            why = self._failure
            await self.finish()
            return why.format()
        self._is_merging = True
        try:
            return await self._merge_or_look_up(request)
        finally:
            self._is_merging = False

    async def _merge_or_look_up(self, request: Request) -> bytes:
        body = request.body.read()
        headers = request.headers
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
            path = self._path(request.target) or b""
            if failure.DAV_ERROR.search(said) and b"errcode" in said:
                return Failure(head.status, said).format()
            return failure.bare(b"MERGE", head.status, path).format()
        return failure.lost(
            "the server went away at the end of the commit; it may have been committed or not: "
            "`svn log` tells"
        ).format()

    async def _look_up(self) -> bytes | None:
        """None: it isn't committed, and can be. Raises: UpstreamLost."""
        headers = self._credentials()
        if await lookup.is_open(self.channel, self.txr, headers):
            return None
        found = await lookup.find(self.channel, self._repository, self._trace, headers)
        if found is not None:
            return found.format()
        return failure.lost("the server lost the transaction; nothing was committed").format()

    async def _remove(self) -> None:
        try:
            async with asyncio.timeout(ABORT_SECONDS):
                await self._idle.wait()
                exchange = Exchange(Request(b"DELETE", self.txn, self._credentials()))
                self.channel.send(exchange)
                await exchange.whole()
        except (UpstreamLost, TimeoutError):
            log.warning("an upstream transaction is left behind: %s", self.txn.decode())
        self.is_over = True

    def _credentials(self) -> Headers:
        wanted = (b"authorization", b"user-agent")
        return [one for one in self._begun.headers if one[0].lower() in wanted]

    # Paths

    def _path(self, target: bytes) -> bytes | None:
        """In the repository, of a public URL."""
        root = self._repository.root
        if target == root:
            return b""
        return unquote_to_bytes(target[len(root) :]) if target.startswith(root + b"/") else None

    def _in_repository(self, request: Request) -> bytes:
        target = request.target
        if request.method == b"COPY":
            target = path_of(request.header(b"destination") or b"")
        return unquote_to_bytes(target[len(self.txr) :]) if target.startswith(self.txr) else b""


def path_of(url: bytes) -> bytes:
    return b"/" + url.partition(b"://")[2].partition(b"/")[2]


def answered(request: Request, status: int) -> bytes:
    """What a client wants to hear of a request that went well."""
    if request.method == b"PROPPATCH":
        return response(207, [XML], PATCHED % request.target.replace(b"&", b"&amp;"))
    return response(status)
