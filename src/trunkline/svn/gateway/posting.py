"""A commit stream on its way upstream: compressed, sent while it is made, and sent again where
that can't commit anything twice.

A stream commits nothing before its end is there. Until the end has been sent, a lost connection
costs sending all of it again, from what is held; afterwards the outcome is asked for by the
stream's key first. The format: docs/commit-stream.md.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterator

import zstandard

from trunkline.svn.commit.encoder import encode_question
from trunkline.svn.commit.names import MEDIA_TYPE, OUTCOME_HEADER
from trunkline.svn.gateway.exchange import Exchange, UpstreamLost
from trunkline.svn.gateway.link import Link
from trunkline.svn.gateway.message import Body, Head, Headers, Request
from trunkline.svn.gateway.progress import Progress
from trunkline.svn.gateway.upstream import Repository, Upstream

log = logging.getLogger(__name__)

LEVEL = 3
QUEUE = 16 << 20  # bytes made and not sent; past it the client waits
HELD = 64 << 20  # bytes held to be sent again; of a longer stream, nothing is
TRIES = 3  # of sending
QUESTION_WAITS = (0, 1, 2, 4, 8, 15, 30)  # seconds before each question for a lost answer
BUSY = 503  # somebody's request still commits by this key
OWN_HEADERS = frozenset((b"content-type", b"accept-encoding", b"x-svn-options", b"svn-vtxn-name"))
ENCODING = (b"Content-Encoding", b"zstd")
TYPE = (b"Content-Type", MEDIA_TYPE)
SHORT = (b"X-SVN-Options", b"no-merge-response")

NOT_KNOWN = (
    "the server went away at the end of the commit; it may have been committed or not: "
    "`svn log` tells"
)


class Posting:
    """Holds: `QUEUE` bytes, and up to `HELD` in a file without a name."""

    def __init__(
        self,
        upstream: Upstream,
        repository: Repository,
        key: bytes,
        headers: Headers,
        progress: Progress,
    ) -> None:
        self._upstream = upstream
        self._target = repository.me
        self._key = key
        self._headers = stream_headers(headers)
        self._compressor = zstandard.ZstdCompressor(level=LEVEL).compressobj()
        self._progress = progress
        self._queue: deque[tuple[bytes, int]] = deque()  # with how many files have begun by then
        self._queued = 0
        self._held = Body()
        self._can_rewind = True
        self._again = 0  # bytes of what is held that come before the queue
        self._is_ended = self._is_end_sent = False
        self._changed = asyncio.Event()
        self._link: Link | None = None
        self._task = asyncio.create_task(self._run())

    @property
    def is_full(self) -> bool:
        return self._queued > QUEUE

    @property
    def is_settled(self) -> bool:
        """There is an answer, or none will come."""
        return self._task.done()

    def write(self, data: bytes) -> None:
        self._put(self._compressor.compress(data))

    def end(self, data: bytes) -> None:
        self._put(self._compressor.compress(data) + self._compressor.flush())
        self._is_ended = True
        self._changed.set()

    def cut(self) -> None:
        """A stream without its end commits nothing."""
        self._task.cancel()
        self._forget()

    async def answer(self) -> Exchange:
        """One that is done. Raises: UpstreamLost."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if not self._task.cancelled():
                raise
            raise UpstreamLost("aborted") from None

    def _put(self, data: bytes) -> None:
        if not data or self._task.done():
            return
        self._queue.append((data, self._progress.files_taken))
        self._queued += len(data)
        self._progress.bytes_taken += len(data)
        self._can_rewind &= self._held.size + len(data) <= HELD
        if self._can_rewind:
            self._held.write(data)
        self._changed.set()

    # Sending

    async def _run(self) -> Exchange:
        """Raises: UpstreamLost."""
        try:
            for left in reversed(range(TRIES)):
                try:
                    return await self._send()
                except UpstreamLost as error:
                    log.warning("%s", error.text)
                    if self._is_end_sent and (found := await self._ask()) is not None:
                        return found
                    if not left or not self._rewind():
                        raise UpstreamLost(f"{error.text}; nothing was committed") from None
            raise AssertionError("not reached")
        finally:
            self._forget()

    async def _send(self) -> Exchange:
        """Raises: UpstreamLost."""
        link = self._link = await self._upstream.connect()
        link.on_change = self._changed.set
        request = Request(b"POST", self._target, [*self._headers, ENCODING], is_streamed=True)
        exchange = Exchange(request, on_done=ignore)
        link.begin(exchange, self._upstream.host)
        is_whole = False
        while is_wanted(link, exchange):
            self._changed.clear()
            for block in self._blocks():
                await link.write_chunk(block)
                if not is_wanted(link, exchange):
                    break
            else:
                if self._is_ended and not is_whole:
                    await link.write_chunk(b"")
                    is_whole = True
                await self._changed.wait()
        return await self._finished(link, exchange, is_whole)

    async def _finished(self, link: Link, exchange: Exchange, is_whole: bool) -> Exchange:
        """Raises: UpstreamLost."""
        while not exchange.is_done and not link.is_lost:
            self._changed.clear()
            await self._changed.wait()
        if not exchange.is_done:
            raise UpstreamLost(f"the connection to {self._upstream.url} was lost")
        self._link = None
        if is_whole:
            self._upstream.keep(link)
        else:
            link.close()
        return exchange

    def _blocks(self) -> Iterator[bytes]:
        """What is to be sent, as far as it has been made."""
        if self._again:
            left, self._again = self._again, 0
            for block in self._held.blocks():
                yield block[:left]
                self._progress.bytes_sent += min(left, len(block))
                left -= min(left, len(block))
                if not left:
                    break
        while self._queue:
            block, files = self._queue.popleft()
            self._queued -= len(block)
            self._is_end_sent = self._is_ended and not self._queue
            yield block
            self._progress.bytes_sent += len(block)
            self._progress.files_sent = files

    def _rewind(self) -> bool:
        """All of it is to be sent again; False: it can't be."""
        if not self._can_rewind:
            return False
        self._queue.clear()
        self._queued = 0
        self._again = self._held.size
        self._progress.bytes_sent = 0
        self._is_end_sent = self._is_ended
        return True

    async def _ask(self) -> Exchange | None:
        """The outcome; None: nothing was committed. Raises: UpstreamLost."""
        for wait in QUESTION_WAITS:
            await asyncio.sleep(wait)
            body = Body(encode_question(self._key))
            exchange = Exchange(Request(b"POST", self._target, self._headers, body), on_done=ignore)
            try:
                await self._ask_once(exchange)
            except UpstreamLost as error:
                log.warning("%s", error.text)
                continue
            assert exchange.head is not None
            if is_unknown(exchange.head):
                return None
            if exchange.head.status != BUSY:
                return exchange
        raise UpstreamLost(NOT_KNOWN)

    async def _ask_once(self, exchange: Exchange) -> None:
        """Raises: UpstreamLost."""
        link = self._link = await self._upstream.connect()
        link.on_change = self._changed.set
        await link.send(exchange, self._upstream.host)
        await self._finished(link, exchange, is_whole=True)

    def _forget(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        self._queue.clear()
        self._queued = 0
        self._held.close()


def stream_headers(headers: Headers) -> Headers:
    """Of a client's POST: who it is, and what it can."""
    kept = [one for one in headers if one[0].lower() not in OWN_HEADERS]
    return [*kept, TYPE, SHORT]


def is_wanted(link: Link, exchange: Exchange) -> bool:
    """Somebody still reads the stream."""
    return not exchange.is_answered and not link.is_lost


def is_unknown(head: Head) -> bool:
    """Nothing was committed by the key that was asked for."""
    return (head.status, head.header(OUTCOME_HEADER)) == (404, b"unknown")


def ignore(_: Exchange) -> None:
    """Its answer is looked at whole."""
