"""Which requests of a client are answered here, and which pass."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass

from trunkline.svn.commit.encoder import encode_question
from trunkline.svn.commit.names import POST_NAME
from trunkline.svn.gateway.cache import Cache
from trunkline.svn.gateway.channel import Channel
from trunkline.svn.gateway.commit import Commit
from trunkline.svn.gateway.exchange import Exchange, UpstreamLost
from trunkline.svn.gateway.keeping import read
from trunkline.svn.gateway.message import Body, Head, Headers, Request, response
from trunkline.svn.gateway.plain import PlainCommit
from trunkline.svn.gateway.posting import is_unknown, stream_headers
from trunkline.svn.gateway.streamed import StreamedCommit
from trunkline.svn.gateway.upstream import Repository, Upstream

SKEL = b"application/vnd.svn-skel"
FOLD_SECONDS = 2.0  # that an answer to OPTIONS is good for those that follow
REVISION_WANTED = b"activity-collection-set"
EMPTY_OPTIONS = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<D:options-response xmlns:D="DAV:">\n'
    b"</D:options-response>"
)
COMMITS_LIMIT = 1000  # that are remembered
# Those that are good for more than the one request they came with.
LASTING_SCHEMES = (b"", b"basic", b"bearer")
CHECKSUM_PROMISE = b"put-result-checksum"
READS = (b"OPTIONS", b"PROPFIND", b"REPORT", b"GET", b"HEAD")
TEXT = (b"Content-Type", b"text/plain; charset=utf-8")

Reply = bytes | Exchange


@dataclass(frozen=True)
class Options:
    """An answer to OPTIONS, and what it was the answer to."""

    target: bytes
    credentials: bytes | None
    until: float
    writes: int
    head: Head
    body: bytes

    def is_good_for(self, target: bytes, credentials: bytes | None, upstream: Upstream) -> bool:
        """Not after a commit through this gateway."""
        return (
            (self.target, self.credentials) == (target, credentials)
            and self.writes == upstream.writes
            and time.monotonic() < self.until
        )


@dataclass
class Session:
    """What is known of one client's connection."""

    channel: Channel | None = None
    commit: Commit | None = None
    options: Options | None = None

    async def close(self) -> None:
        """The client is gone."""
        if self.commit is not None:
            await self.commit.finish()
        if self.channel is not None:
            self.channel.close()


class Gateway:
    """To its upstreams, and to no other server."""

    def __init__(self, upstreams: list[Upstream], cache: Cache | None = None) -> None:
        self._cache = cache
        self.upstreams = {upstream.asked_as: upstream for upstream in upstreams}
        self._commits: dict[tuple[Upstream, bytes], Commit] = {}  # the last of them, by transaction

    async def reply(self, request: Request, session: Session) -> Reply:
        upstream = self.find_upstream(request)
        if upstream is None:
            return refusal(request)
        channel = session.channel
        if channel is None or channel.upstream is not upstream:
            if session.commit is not None:
                await session.commit.finish()
                session.commit = None
            if channel is not None:
                channel.close()
            channel = session.channel = Channel(upstream)
        point_upstream(request, upstream)
        if request.method not in READS:
            upstream.writes += 1
        commit = session.commit
        if commit is not None and commit.owns(request):
            return await commit.answer(request)
        if request.method == b"DELETE" and (upstream, request.target) in self._commits:
            # A client that was told of a failure aborts by another connection.
            await self._commits[upstream, request.target].finish()
            return response(204)
        if request.method == b"POST":
            repository = upstream.repositories.get(request.target)
            if repository is not None and can_begin(request, commit):
                reply = await begin(request, session, channel, repository)
                self._note(upstream, session.commit)
                return reply
        if request.method == b"OPTIONS":
            return await options(request, session, channel)
        return self._forward(request, channel)

    def _forward(self, request: Request, channel: Channel) -> Reply:
        repository = channel.upstream.repository_of(request.target)
        if self._cache is None or repository is None or request.method not in READS:
            return forward(request, channel)
        found = read(request, channel.upstream, repository, self._cache)
        if isinstance(found, Exchange):
            channel.send(found)
        return found

    def _note(self, upstream: Upstream, commit: Commit | None) -> None:
        if commit is not None:
            self._commits[upstream, commit.txn] = commit
            while len(self._commits) > COMMITS_LIMIT:
                self._commits.pop(next(iter(self._commits)))

    def find_upstream(self, request: Request) -> Upstream | None:
        host, port = split_origin(request.origin)
        return self.upstreams.get((host, port)) if host else None

    def close(self) -> None:
        for upstream in self.upstreams.values():
            upstream.close()


def split_origin(origin: bytes) -> tuple[str, int]:
    scheme, _, rest = origin.decode("latin-1").lower().partition("://")
    host, colon, port = rest.rpartition(":")
    if scheme != "http" or not rest:
        return "", 0
    if colon and port.isdigit() and "]" not in port:
        return host.strip("[]"), int(port)
    return rest.strip("[]"), 80


def refusal(request: Request) -> bytes:
    if request.method == b"CONNECT":
        text = b"This gateway makes no tunnels: use http:// here, and --upstream https://...\n"
        return response(501, [TEXT], text)
    if not request.origin:
        text = b"This is a Trunkline gateway: name it as svn's http-proxy-host.\n"
        return response(400, [TEXT], text)
    return response(403, [TEXT], b"This gateway has no such upstream.\n")


def point_upstream(request: Request, upstream: Upstream) -> None:
    """Whole URLs in headers name the upstream as it names itself."""
    if request.origin == upstream.origin:
        return
    request.headers = [
        (name, value.replace(request.origin + b"/", upstream.origin + b"/"))
        if name.lower() in (b"destination", b"if")
        else (name, value)
        for name, value in request.headers
    ]


def can_begin(request: Request, commit: Commit | None) -> bool:
    scheme = (request.header(b"authorization") or b"").split(b" ")[0].lower()
    return (
        request.header(b"content-type") == SKEL
        and scheme in LASTING_SCHEMES
        and (commit is None or commit.is_over)
    )


async def begin(
    request: Request, session: Session, channel: Channel, repository: Repository
) -> bytes:
    """A transaction; answered at once where the credentials have begun one before."""
    upstream = channel.upstream
    credentials = request.header(b"authorization") or b""
    name = str(uuid.uuid4()).encode()
    if POST_NAME in repository.posts:
        return await begin_stream(request, session, channel, repository, name)
    if repository.vtxn:
        request.headers.append((b"SVN-VTxn-Name", name))
        urls = (repository.vtxn + b"/" + name, repository.vtxr + b"/" + name)
        if upstream.accepts(repository, credentials):
            session.commit = PlainCommit(channel, repository, *urls, request)
            session.commit.send(request, 201)
            return response(201, [(b"SVN-VTxn-Name", name)])
    exchange = Exchange(request)
    commit_post = Request(request.method, request.target, request.headers, body_copy(request))
    channel.send(exchange)
    try:
        head, said = await exchange.wait_head(), await exchange.whole()
    except UpstreamLost as error:
        return gone(error)
    if head.status == 201:
        upstream.accept(repository, credentials)
        if own := head.header(b"svn-vtxn-name"):
            urls = (repository.vtxn + b"/" + own, repository.vtxr + b"/" + own)
        else:
            own = head.header(b"svn-txn-name") or b""
            urls = (repository.txn + b"/" + own, repository.txr + b"/" + own)
        session.commit = PlainCommit(channel, repository, *urls, commit_post)
    return whole(head, said)


async def begin_stream(
    request: Request, session: Session, channel: Channel, repository: Repository, name: bytes
) -> bytes:
    """A question for a key that nobody used tells whether these credentials may commit, and
    leaves nothing behind.
    """
    upstream = channel.upstream
    credentials = request.header(b"authorization") or b""
    upstream.warm()
    if not upstream.accepts(repository, credentials):
        headers = stream_headers(request.headers)
        body = Body(encode_question(name))
        exchange = Exchange(Request(b"POST", request.target, headers, body))
        channel.send(exchange)
        try:
            head, said = await exchange.wait_head(), await exchange.whole()
        except UpstreamLost as error:
            return gone(error)
        if not is_unknown(head):
            return whole(head, said)
        upstream.accept(repository, credentials)
    urls = (repository.txn + b"/" + name, repository.txr + b"/" + name)
    session.commit = StreamedCommit(channel, repository, *urls, request, name)
    return response(201, [(b"SVN-Txn-Name", name)])


def body_copy(request: Request) -> Body:
    return Body(request.body.read(request.body.size))


async def options(request: Request, session: Session, channel: Channel) -> Reply:
    """Clients ask two or three times in a row: what is there, whether a proxy is in between, and
    for the youngest revision. The first answer is good for all of them, for a moment."""
    is_probe = REVISION_WANTED not in request.body.read()
    credentials = request.header(b"authorization")
    known = session.options
    if known is not None and known.is_good_for(request.target, credentials, channel.upstream):
        body = EMPTY_OPTIONS if is_probe else known.body
        return whole(known.head, body)
    request.want_plain()
    exchange = Exchange(request)
    channel.send(exchange)
    writes = channel.upstream.writes
    try:
        head, said = await exchange.wait_head(), await exchange.whole()
    except UpstreamLost as error:
        return gone(error)
    if head.status == 200 and not is_probe:
        channel.upstream.learn(head)
        head = Head(200, without_promise(head.headers))
        until = time.monotonic() + FOLD_SECONDS
        session.options = Options(request.target, credentials, until, writes, head, said)
    return whole(head, said)


def whole(head: Head, body: bytes) -> bytes:
    return head.format(b"Content-Length: %d\r\n" % len(body)) + body


def without_promise(headers: Headers) -> Headers:
    """A PUT's answer can't bear the checksum of the result; so the client sends it, and the
    upstream compares."""
    kept: Headers = []
    for name, value in headers:
        if name.lower() == b"dav" and CHECKSUM_PROMISE in value:
            tokens = [one.strip() for one in value.split(b",")]
            value = b",".join(one for one in tokens if not one.endswith(CHECKSUM_PROMISE))
        if value:
            kept.append((name, value))
    return kept


def forward(request: Request, channel: Channel) -> Exchange:
    exchange = Exchange(request)
    channel.send(exchange)
    return exchange


def gone(error: UpstreamLost) -> bytes:
    return response(502, [TEXT], error.text.encode() + b"\n")
