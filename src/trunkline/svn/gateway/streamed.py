"""A commit to a Trunkline: one POST of a commit stream, on its way while the client sends."""

from __future__ import annotations

import asyncio
from urllib.parse import unquote

from trunkline.errors import PeerError
from trunkline.svn.commit.encoder import Encoder
from trunkline.svn.commit.names import PATH_HEADER
from trunkline.svn.dav.xml_out import escape
from trunkline.svn.gateway import failure
from trunkline.svn.gateway.channel import Channel
from trunkline.svn.gateway.commit import Commit
from trunkline.svn.gateway.exchange import Exchange, UpstreamLost
from trunkline.svn.gateway.failure import Failure
from trunkline.svn.gateway.message import Request
from trunkline.svn.gateway.operations import Operations
from trunkline.svn.gateway.posting import Posting
from trunkline.svn.gateway.upstream import Repository

ROOM_SECONDS = 0.01


class StreamedCommit(Commit):
    """`key` is the stream's: random, one for each commit."""

    def __init__(
        self,
        channel: Channel,
        repository: Repository,
        txn: bytes,
        txr: bytes,
        post: Request,
        key: bytes,
    ) -> None:
        super().__init__(channel, repository, txn, txr, post)
        self._failure: Failure | None = None
        self._operations = Operations(Encoder(key), repository, txn, txr)
        self._posting = Posting(channel.upstream, repository, key, post.headers, self.progress)
        self._is_merging = False
        self._write_begin()

    def _write_begin(self) -> None:
        try:
            for record in self._operations.begin(self.post):
                self._posting.write(record)
        except PeerError as error:
            self._fail(error, b"")

    async def take(self, request: Request, status: int) -> None:
        try:
            if self._failure is None:
                for record in self._operations.records(request, status):
                    self._posting.write(record)
                    await self._wait_for_room()
                    if self._posting.is_settled:
                        return
        except PeerError as error:
            self._fail(error, self.path_in(request))
        finally:
            request.body.close()

    async def _wait_for_room(self) -> None:
        while self._posting.is_full and not self._posting.is_settled:
            await asyncio.sleep(ROOM_SECONDS)

    async def merge(self, request: Request) -> bytes:
        if self._failure is None and not self._posting.is_settled:
            try:
                self._posting.end(self._operations.end(request))
            except PeerError as error:
                self._fail(error, b"")
        if self._failure is not None:
            self.is_over = True
            return self._failure.format()
        self._is_merging = True
        try:
            exchange = await self._posting.answer()
        except UpstreamLost as error:
            return failure.lost(error.text).format()
        finally:
            self._is_merging = False
            self.is_over = True
        return self._told(exchange, request)

    async def finish(self) -> None:
        if not self.is_over and not self._is_merging:
            self._posting.cut()
            self.is_over = True

    def _fail(self, error: PeerError, path: bytes) -> None:
        """It isn't what a client sends."""
        self._posting.cut()
        shown = f"'{unquote(path)}': {error.text}" if path else error.text
        self._failure = failure.explain(400, failure.REQUEST_FAILED, escape(shown.encode()))

    def _told(self, exchange: Exchange, merge: Request) -> bytes:
        head, said = exchange.head, exchange.body()
        assert head is not None
        if head.status == 200:
            return head.format(b"Content-Length: %d\r\n" % len(said)) + said
        if head.status == 401:
            credentials = self.post.header(b"authorization") or b""
            self.channel.upstream.refuse(self.repository, credentials)
        if failure.is_explained(said):
            return Failure(head.status, said).format()
        path = head.header(PATH_HEADER) or self.path(merge.target) or b""
        return failure.bare(b"MERGE", head.status, path).format()
