"""A commit on its way: its requests are answered at once, and told upstream as that wants them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from urllib.parse import unquote_to_bytes

from trunkline.svn.gateway.channel import Channel
from trunkline.svn.gateway.failure import XML
from trunkline.svn.gateway.message import Headers, Request, response
from trunkline.svn.gateway.progress import Progress
from trunkline.svn.gateway.touched import Touched
from trunkline.svn.gateway.upstream import Repository

GOOD = {
    b"POST": 201,
    b"MKCOL": 201,
    b"COPY": 201,
    b"DELETE": 204,
    b"PUT": 201,  # or 204, see `_expected`
    b"PROPPATCH": 207,
}
PATCHED = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:"><D:response>'
    b"<D:href>%s</D:href><D:propstat><D:prop/><D:status>HTTP/1.1 200 OK</D:status></D:propstat>"
    b"</D:response></D:multistatus>"
)


class Commit(ABC):
    """`txn` and `txr` are URL paths: the transaction's own, and that of its root."""

    def __init__(
        self, channel: Channel, repository: Repository, txn: bytes, txr: bytes, post: Request
    ) -> None:
        self.channel = channel
        self.repository = repository
        self.txn = txn
        self.txr = txr
        self.is_over = False  # committed, or removed
        self.post = post  # whose credentials the gateway's own requests bear
        self.touched = Touched()
        self.progress = channel.upstream.progress = Progress()

    @abstractmethod
    async def take(self, request: Request, status: int) -> None:
        """Send it upstream, which is held to `status`: what the client is told. The client waits
        where the upstream is far behind.
        """

    @abstractmethod
    async def merge(self, request: Request) -> bytes:
        """The whole answer to the MERGE."""

    @abstractmethod
    async def finish(self) -> None:
        """Nothing is left of it upstream afterwards, unless it is committed."""

    def owns(self, request: Request) -> bool:
        target = self._target(request)
        if target in (self.txn, self.txr) or target.startswith(self.txr + b"/"):
            return request.method in GOOD
        if request.method == b"HEAD":
            return b"/!svn/" not in request.target and self.path(request.target) is not None
        return request.method == b"MERGE" and self.txn in request.body.read()

    async def answer(self, request: Request) -> bytes:
        """The whole answer to one that it owns."""
        if request.method == b"MERGE":
            self.progress.end()
            try:
                return await self.merge(request)
            finally:
                self.progress.is_over = True
        if request.method == b"HEAD":  # is the path free? The status of the PUT will tell
            self.touched.note(b"HEAD", self.path(request.target) or b"")
            return response(404)
        if request.method == b"DELETE" and request.target == self.txn:
            await self.finish()
            return response(204)
        status = self._expected(request)
        self.progress.files_taken += request.method == b"PUT"
        await self.take(request, status)
        return answered(request, status)

    def _expected(self, request: Request) -> int:
        """The status that the client wants, and that the upstream is held to."""
        path = self.path_in(request)
        if request.method == b"PUT" and not self.touched.is_new(path, request):
            return 204
        self.touched.note(request.method, path)
        return GOOD[request.method]

    def credentials(self) -> Headers:
        wanted = (b"authorization", b"user-agent")
        return [one for one in self.post.headers if one[0].lower() in wanted]

    # Paths in the repository, without a slash at the root's end

    def path(self, target: bytes) -> bytes | None:
        """Of a public URL."""
        root = self.repository.root
        if target == root:
            return b""
        return unquote_to_bytes(target[len(root) :]) if target.startswith(root + b"/") else None

    def path_in(self, request: Request) -> bytes:
        """What a request is about."""
        target = self._target(request)
        return unquote_to_bytes(target[len(self.txr) :]) if target.startswith(self.txr) else b""

    @staticmethod
    def _target(request: Request) -> bytes:
        """The URL path of what is changed."""
        if request.method == b"COPY":
            return path_of(request.header(b"destination") or b"")
        return request.target


def path_of(url: bytes) -> bytes:
    return b"/" + url.partition(b"://")[2].partition(b"/")[2]


def answered(request: Request, status: int) -> bytes:
    """What a client wants to hear of a request that went well."""
    if request.method == b"PROPPATCH":
        return response(207, [XML], PATCHED % request.target.replace(b"&", b"&amp;"))
    return response(status)
