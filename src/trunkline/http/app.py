"""The ASGI application: one request in, one reply out, one line in the log.

The event loop moves bytes. What reads a disk or costs CPU runs in `Threads`, but for answers that
are known to be quick. Pushes, which wait for their client, have threads of their own; so have
pages, which must keep no client waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from trunkline.config.proxies import Proxies
from trunkline.config.settings import Settings
from trunkline.errors import PeerError
from trunkline.hg.stock.bridge import close_shared_pool
from trunkline.hg.stock.configuration import close_readers
from trunkline.hg.wire.answer import Answer
from trunkline.hg.wire.request import post_arguments_length
from trunkline.http.access_log import AccessLog, Line
from trunkline.http.blocks import Pieces, read_span
from trunkline.http.body import ClientGone, Receive, RequestBody, Send
from trunkline.http.door import Door, States, Way
from trunkline.http.failure import explain, for_people, log_broken
from trunkline.http.fresh import Fresh
from trunkline.http.incoming import read_arguments, read_push_arguments
from trunkline.http.limits import ArgumentBytes, Guests
from trunkline.http.roots import Roots
from trunkline.http.send import Begun, BrokenReply, Sent, send_stream, send_whole
from trunkline.http.subversion import SvnDoor, SvnPlace
from trunkline.http.threads import Threads
from trunkline.http.url_path import NOT_FOUND
from trunkline.http.visit import Scope, Visit, read_visit
from trunkline.reply import Bytes, Span, Stream
from trunkline.svn.dav.failure import explain as explain_svn

SHORT_BODY = 256 * 1024  # bytes; taken before a thread is asked


@dataclass(frozen=True, slots=True)
class Made:
    """An answer; `begun` is its body when that is a stream to be sent."""

    answer: Answer
    begun: Begun | None = None


class App:
    """One for each worker process. `ready` is called once requests can be answered."""

    def __init__(
        self,
        settings: Settings,
        roots: Roots | None = None,
        ready: Callable[[], object] | None = None,
    ) -> None:
        self._settings = settings
        self._ready = ready
        self._door = Door(settings, roots)
        self._svn_door = SvnDoor(settings, self._door.roots)
        self._guests = Guests(settings.limits)
        self._argument_bytes = ArgumentBytes(settings.limits.all_post_args_bytes)
        self._log = AccessLog(settings.log.access, settings.log.format)
        self._proxies = Proxies(settings.server.trusted_proxies)
        self._fresh: States | None = None
        self._threads: Threads | None = None
        self._push_threads: Threads | None = None
        self._page_threads: Threads | None = None
        self._pushes = 0
        self._running: dict[int, tuple[Line, float]] = {}  # and when it began
        self._streams: dict[int, Sent] = {}  # by the same key

    # -- life

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            kind = (await receive())["type"]
            if kind == "lifespan.startup":
                self.open()
            else:
                self.close()
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    def open(self) -> None:
        """In the event loop that is going to serve."""
        server = self._settings.server
        self._fresh = Fresh()
        self._threads = Threads(server.threads, "reply")
        self._push_threads = Threads(server.push_threads, "push")
        self._page_threads = Threads(server.page_threads, "page")
        self._threads.run(self._door.warm)
        if self._ready is not None:
            self._ready()

    def close(self) -> None:
        """No thread waits and no child process stays."""
        self._log.flush()
        self.close_threads()
        self._svn_door.close()
        close_shared_pool()
        close_readers()

    def log_running(self) -> None:
        """What is going to be cut off, because the time for running replies is over."""
        now = time.perf_counter()
        for key, (line, start) in self._running.items():
            line.seconds = now - start
            line.outcome = "aborted"
            if key in self._streams:
                line.bytes = self._streams[key].bytes
            self._log.hold(line)
        self._log.flush()

    def close_threads(self) -> None:
        for threads in (self._threads, self._push_threads, self._page_threads):
            if threads is not None:
                threads.close()

    # -- one request

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        visit = read_visit(scope, self._proxies)
        line = Line(
            client=visit.address,
            method=visit.method,
            path=visit.raw_path.decode("latin-1"),
            user_agent=visit.user_agent,
        )
        self._running[id(line)] = line, start
        try:
            await self._counted(visit, receive, send, line)
        finally:
            del self._running[id(line)]
            line.seconds = time.perf_counter() - start
            if self._log.hold(line):  # those of all requests at hand are written together
                asyncio.get_running_loop().call_soon(self._log.flush)

    async def _counted(self, visit: Visit, receive: Receive, send: Send, line: Line) -> None:
        body = RequestBody(receive, self._settings.limits.body_idle_seconds)
        try:
            ticket = self._guests.enter(visit.address)
        except PeerError as error:
            await self._send(Made(self._failure(error, visit, "")), visit, body, send, line)
            return
        try:
            try:
                made = await self._make(visit, body, line)
            except ClientGone:
                line.outcome = "gone"
                raise BrokenReply from None
            await self._send(made, visit, body, send, line)
        finally:
            self._guests.leave(ticket)

    async def _make(self, visit: Visit, body: RequestBody, line: Line) -> Made:
        """Raises: ClientGone."""
        command = ""
        try:
            if b"cmd=" not in visit.query:
                assert self._threads is not None
                place = await self._threads.run(self._svn_door.find, visit.raw_path)
                if place is not None:
                    return await self._dav(visit, place, body)
                if visit.user_agent.startswith("SVN/"):
                    raise PeerError(NOT_FOUND, status=404)
            way = self._door.way(visit)
            command = line.command = way.shown_command
            with self._argument_bytes.hold(post_arguments_length(visit.headers)):
                if way.has_payload and visit.method == "POST":
                    made = await self._push(visit, way, body)
                else:
                    made = await self._ask(visit, way, body)
        except ClientGone:
            raise
        except Exception as error:
            made = Made(self._failure(error, visit, command))
        line.command = line.command or made.answer.command  # an extension's
        return made

    async def _ask(self, visit: Visit, way: Way, body: RequestBody) -> Made:
        arguments = await read_arguments(visit, body, self._settings.limits)
        if self._door.is_quick(visit, way, arguments):
            assert self._fresh is not None
            return Made(self._door.quick_answer(visit, way, arguments, self._fresh))
        threads = self._threads if way.command is not None else self._page_threads
        assert threads is not None
        return await threads.run(self._work, visit, way, arguments, None)

    async def _push(self, visit: Visit, way: Way, body: RequestBody) -> Made:
        """What isn't wanted of the bundle is read all the same: a client that still sends when
        the answer comes sees a broken connection instead of words.
        """
        limits = self._settings.limits
        assert self._push_threads is not None
        try:
            if self._pushes >= self._push_threads.count:
                raise PeerError(f"{self._pushes} pushes are running: try again", status=503)
            arguments = await read_push_arguments(visit, body, limits)
            self._pushes += 1
            try:
                payload = body.blocks(limits.push_bytes)
                made = await self._push_threads.run(self._work, visit, way, arguments, payload)
            finally:
                self._pushes -= 1
        except ClientGone:
            raise
        except PeerError as error:
            made = Made(self._failure(error, visit, way.shown_command))
        if body.is_gone:
            raise ClientGone("the client went away")
        if body.is_begun or b"expect" not in visit.headers:
            await body.drain(limits.refused_push_bytes)
        return made

    async def _dav(self, visit: Visit, place: SvnPlace, body: RequestBody) -> Made:
        """For a Subversion repository. A long body is taken by a thread while it comes."""
        limits = self._settings.limits
        begun = await body.begin(SHORT_BODY)
        if body.is_complete:
            assert self._threads is not None
            return await self._threads.run(self._work_svn, visit, place, [begun])
        assert self._push_threads is not None
        blocks = chain([begun], body.blocks(self._settings.subversion.body_bytes))
        made = await self._push_threads.run(self._work_svn, visit, place, blocks)
        if body.is_gone:
            raise ClientGone("the client went away")
        await body.drain(limits.refused_push_bytes)
        return made

    def _work_svn(self, visit: Visit, place: SvnPlace, blocks: Iterable[bytes]) -> Made:
        """In a thread: as `_work`."""
        made = self._svn_door.answer(place, visit, blocks)
        answer = Answer(made.status, made.headers, made.body)
        if isinstance(answer.body, Bytes):
            return Made(answer)
        pieces = Pieces(
            answer.body.blocks if isinstance(answer.body, Stream) else read_span(answer.body)
        )
        try:
            if visit.method == "HEAD":
                pieces.close()
                return Made(answer)
            return Made(answer, Begun(pieces, pieces.pull()))
        except Exception as error:
            with contextlib.suppress(Exception):
                pieces.close()
            failed = explain_svn(error, describe(visit))
            return Made(Answer(failed.status, failed.headers, failed.body))

    def _work(
        self, visit: Visit, way: Way, arguments: bytes, payload: Iterator[bytes] | None
    ) -> Made:
        """In a thread: the answer, and of a stream the first piece, so that what fails at once
        still gets a status of its own.
        """
        pieces = None
        try:
            answer = self._door.answer(visit, way, arguments, payload)
            body = answer.body
            if isinstance(body, Bytes):
                return Made(answer)
            if isinstance(body, Span):
                answer.headers.append((b"content-length", b"%d" % body.length))
            pieces = Pieces(body.blocks if isinstance(body, Stream) else read_span(body))
            if visit.method == "HEAD":
                pieces.close()
                return Made(answer)
            return Made(answer, Begun(pieces, pieces.pull()))
        except Exception as error:
            if pieces is not None:
                with contextlib.suppress(Exception):
                    pieces.close()
            return Made(self._failure(error, visit, way.shown_command))

    def _failure(self, error: Exception, visit: Visit, command: str) -> Answer:
        answer = explain(error, describe(visit), command)
        return answer if command else for_people(answer, visit.headers)

    async def _send(
        self, made: Made, visit: Visit, body: RequestBody, send: Send, line: Line
    ) -> None:
        """Raises: BrokenReply."""
        answer, begun = made.answer, made.begun
        headers = answer.headers
        if not any(name == b"server" for name, _ in headers):
            headers.append((b"server", self._door.server_header))
        line.status = answer.status
        line.media_engine = answer.engine
        is_head = visit.method == "HEAD"
        if isinstance(answer.body, Bytes):
            line.bytes = await send_whole(send, answer.status, headers, answer.body.data, is_head)
            return
        if begun is None:
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        assert self._threads is not None
        idle = self._settings.limits.send_idle_seconds
        sent = self._streams[id(line)] = Sent()
        try:
            await send_stream(send, body, self._threads, begun, answer.status, headers, idle, sent)
        finally:
            del self._streams[id(line)]
        line.bytes = sent.bytes
        if sent.failure is not None:
            line.outcome = "aborted"
            log_broken(sent.failure, describe(visit), sent.bytes)
            raise BrokenReply from None
        if sent.is_gone:
            line.outcome = "gone"
            raise BrokenReply


def describe(visit: Visit) -> str:
    return f"{visit.method} {visit.raw_path.decode('latin-1')}"
