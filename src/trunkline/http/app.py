"""The ASGI application: one request in, one reply out, one line in the log.

The event loop moves bytes. What reads a disk or costs CPU runs in `Threads`, but for answers that
are known to be quick. Pushes, which wait for their client, have threads of their own; so have
answers through the bridge, which wait for other processes, and pages, which must keep no client
waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from trunkline.access.current import Current
from trunkline.config.networks import Networks
from trunkline.config.settings import Settings
from trunkline.errors import ClientGone, PeerError, StoreError
from trunkline.hg.stock.bridge import close_shared_pool
from trunkline.hg.stock.configuration import close_readers
from trunkline.hg.wire.answer import Answer
from trunkline.http.access_log import AccessLog, Line
from trunkline.http.blocks import Pieces, read_span
from trunkline.http.body import Receive, RequestBody, Send
from trunkline.http.connection import reset_connection
from trunkline.http.crew import Crew
from trunkline.http.dav import converted
from trunkline.http.direct import send_direct, take_connection
from trunkline.http.door import Bridged, Door
from trunkline.http.errand import NOWHERE, Errand
from trunkline.http.failure import NotThere, explain, explain_to_svn, for_people, log_broken
from trunkline.http.follow import Following, send_file
from trunkline.http.incoming import read_arguments, read_message, read_push_arguments
from trunkline.http.limits import ArgumentBytes, Guests, Held
from trunkline.http.made import Made, close_quietly
from trunkline.http.own_url import HTTP_1_0
from trunkline.http.reception import UNAUTHORIZED, challenge
from trunkline.http.roots import Roots
from trunkline.http.send import Begun, BrokenReply, Sent, send_stream, send_whole
from trunkline.http.threads import Lane
from trunkline.http.visit import Scope, Visit, describe, read_visit
from trunkline.reply import Bytes, Span, Stream
from trunkline.work import Work

log = logging.getLogger(__name__)

# The HTTP library doesn't say which. One that is gone doesn't read it.
CUT_BODY = "the request's body is malformed, or ends too early"
NOT_MODIFIED = 304
ATTEND_SECONDS = 0.2  # of work, before its client is watched
# Since it came, before a request is told that there is no such repository: to find out that one may
# not be known of takes longer than to find none, and nobody should see that.
HIDING_SECONDS = 0.05


class App:
    """One for each worker process. `ready` is called once requests can be answered; when
    `log_turn` gives another number, the access log is opened anew.
    """

    def __init__(
        self,
        settings: Settings,
        roots: Roots | None = None,
        ready: Callable[[], object] | None = None,
        log_turn: Callable[[], int] = lambda: 0,
        settings_file: str = "",
    ) -> None:
        """`settings_file`: whose `[auth]`, `[groups]` and `[[access]]` are read again when it
        changes. Raises: SettingsError.
        """
        self._settings = settings
        self._access = Current(settings, settings_file)
        self._ready = ready
        self._door = Door(settings, roots)
        self._guests = Guests(settings.limits)
        self._argument_bytes = ArgumentBytes(settings.limits)
        self._log = AccessLog(settings.log.access, settings.log.format, log_turn)
        self._proxies = Networks(settings.server.trusted_proxies, "trusted_proxies")
        self._crew: Crew | None = None
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

    @property
    def crew(self) -> Crew:
        """Once it is open."""
        assert self._crew is not None
        return self._crew

    def open(self) -> None:
        """In the event loop that is going to serve."""
        self._crew = Crew(self._settings, self._door)
        self._crew.threads.run(self._door.warm)
        if self._ready is not None:
            self._ready()

    def close(self) -> None:
        """No thread waits and no child process stays."""
        self._log.close()
        self.close_threads()
        self._door.subversion.close()
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
            self._log.add(line)
        self._log.close()

    def close_threads(self) -> None:
        if self._crew is not None:
            self._crew.close()
        self._door.close()

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
        except BrokenReply:
            if visit.http_version in HTTP_1_0 and line.outcome == "aborted":
                reset_connection(visit.peer)
            raise
        finally:
            del self._running[id(line)]
            line.seconds = time.perf_counter() - start
            self._log.add(line)

    async def _counted(self, visit: Visit, receive: Receive, send: Send, line: Line) -> None:
        limits = self._settings.limits
        body = RequestBody(receive, limits.body_idle_seconds, limits.body_bytes_per_second)
        work = Work(limits.walked_revisions)
        try:
            if visit.head_bytes > limits.header_bytes:
                # After a 400 `svn` sends its lock tokens in a body, after nothing else.
                status = 400 if visit.is_svn else 431
                raise PeerError(f"a head of more than {limits.header_bytes} bytes", status=status)
            guest = self._guests.enter(visit.address)
        except PeerError as error:
            await self._send(Made(self._failure(error, visit, "")), visit, body, send, line)
            return
        try:
            try:
                made = await self._make(visit, body, line, guest, work)
            except ClientGone:
                line.outcome = "gone"
                if not body.is_cut:
                    raise BrokenReply from None
                made = Made(self._failure(PeerError(CUT_BODY), visit, ""))
            await self._send(made, visit, body, send, line)
        finally:
            self._guests.leave(guest)
            body.close()

    async def _make(
        self, visit: Visit, body: RequestBody, line: Line, guest: str, work: Work
    ) -> Made:
        """Raises: ClientGone."""
        command = ""
        start = time.monotonic()
        standing = self._access.get()
        errand = Errand(visit, NOWHERE, standing, work=work)
        try:
            made = None
            if b"cmd=" not in visit.query:
                made = await self._subversion(errand, body, guest, line)
            if made is None:
                errand.way = self._door.way(visit)
                command = line.command = errand.way.shown_command
                made = await self._mercurial(errand, body, guest, line)
        except ClientGone:
            raise
        except Exception as error:
            if isinstance(error, NotThere):
                await asyncio.sleep(start + HIDING_SECONDS - time.monotonic())
            made = Made(self._failure(error, visit, command))
        challenge(made.answer, standing, visit)
        line.command = line.command or made.answer.command  # an extension's
        return made

    async def _subversion(
        self, errand: Errand, body: RequestBody, guest: str, line: Line
    ) -> Made | None:
        """None: it goes the way of what is for no Subversion repository. Raises: PeerError,
        ClientGone.
        """
        limits = self._settings.limits
        try:
            await self._greet(errand, guest, line)
            made = await self.crew.dav.make(errand, body, guest)
        except ClientGone:
            raise
        except PeerError:
            await throw_away(body, errand.visit, limits.refused_push_bytes)
            raise
        return made

    async def _mercurial(self, errand: Errand, body: RequestBody, guest: str, line: Line) -> Made:
        with self._argument_bytes.holding(guest) as held:
            if errand.way.has_payload(errand.visit.method):
                return await self._push(errand, body, held, guest, line)
            return await self._ask(errand, body, held, guest, line)

    async def _greet(self, errand: Errand, guest: str, line: Line) -> None:
        """Who it is of. Raises: PeerError."""
        if errand.is_greeted:
            return
        errand.who = await self.crew.reception.identify(errand.visit, guest, errand.standing)
        errand.is_greeted = True
        line.user = errand.who.user

    async def _ask(
        self, errand: Errand, body: RequestBody, held: Held, guest: str, line: Line
    ) -> Made:
        visit, way = errand.visit, errand.way
        try:
            await self._greet(errand, guest, line)
        except PeerError:
            await throw_away(body, visit, self._settings.limits.other_body_bytes)
            raise
        read = read_message if way.has_message else read_arguments
        arguments = await read(visit, body, self._settings.limits, held)
        errand.arguments = arguments
        if self._door.is_quick(visit, way, arguments):
            answer = self._door.quick_answer(errand, self.crew.fresh)
            if answer is not None:
                return Made(answer)
        try:
            return await self._from_spool(await self._answer(errand, body, guest), errand, body)
        except StoreError as error:  # stripped from or rolled back meanwhile, it may be
            if errand.may_wait:  # through the bridge, whose hooks have run
                raise
            log.info("%s: %s; it is read once more", describe(visit), error.text)
        return await self._from_spool(await self._answer(errand, body, guest), errand, body)

    async def _answer(self, errand: Errand, body: RequestBody, guest: str) -> Made:
        """Raises: ClientGone, StoreError."""
        way = errand.way
        if way.is_page:
            return await attend(self.crew.page_threads.lane(guest), body, self._work, errand)
        if not (way.is_push or self._door.is_bridged(way)):
            with contextlib.suppress(Bridged):
                return await attend(self.crew.threads.lane(guest), body, self._work, errand)
        errand.may_wait = True
        return await attend(self.crew.bridge_threads.lane(guest), body, self._work, errand)

    async def _from_spool(self, made: Made, errand: Errand, body: RequestBody) -> Made:
        """Of a file, or a stream that wasn't begun. Raises: ClientGone, PeerError, StoreError."""
        stream = made.answer.body
        if isinstance(stream, Span) and not is_head_alone(errand, made.answer):
            return replace(made, begun=await self.crew.files.begin(stream))
        if (
            made.begun is not None
            or errand.visit.method == "HEAD"
            or not isinstance(stream, Stream)
        ):
            return made
        assert made.lane is not None
        following = await self.crew.spooled.begin(stream, body)
        if following is not None:
            return replace(made, begun=following)
        body.gone.add_done_callback(errand.work.leave)
        begun = await made.lane.run(self._begin, errand, made.answer)
        return replace(begun, lane=made.lane)

    async def _push(
        self, errand: Errand, body: RequestBody, held: Held, guest: str, line: Line
    ) -> Made:
        """What isn't wanted of the bundle is read all the same: a client that still sends when
        the answer comes sees a broken connection instead of words.
        """
        limits = self._settings.limits
        visit = errand.visit
        failure: PeerError | StoreError | None = None
        made: Made | None = None
        try:
            await self._greet(errand, guest, line)
            if self._pushes >= self.crew.push_threads.count:
                raise PeerError(f"{self._pushes} pushes are running: try again", status=503)
            arguments = await read_push_arguments(visit, body, limits, held)
            self._pushes += 1
            try:
                payload = body.blocks(limits.push_bytes)
                errand.arguments, errand.payload, errand.may_wait = arguments, payload, True
                errand.work = Work()
                made = await self.crew.push_threads.run_for(guest, self._work, errand)
                made = replace(made, lane=self.crew.bridge_threads.lane(guest))
            finally:
                self._pushes -= 1
        except ClientGone:
            raise
        except (PeerError, StoreError) as error:
            failure = error
        if body.is_gone:
            raise ClientGone("the client went away")
        # Who is asked to log in sends it all again.
        is_asked = made is not None and made.answer.status == UNAUTHORIZED
        limit = limits.push_bytes if is_asked else limits.refused_push_bytes
        await throw_away(body, visit, limit)
        if made is None:
            assert failure is not None
            raise failure
        return made

    def _work(self, errand: Errand) -> Made:
        """In a thread: the answer, and of a stream the first piece, so that what fails at once
        still gets a status of its own. One for the spool isn't begun. Raises: Bridged, ClientGone,
        NotThere, StoreError.
        """
        try:
            errand.work.look()
            answer = self._door.answer(errand)
            if isinstance(answer.body, Stream) and self.crew.spooled.takes(answer.body):
                return Made(answer)
            if isinstance(answer.body, Span) and not is_head_alone(errand, answer):
                return Made(answer)
        except (Bridged, ClientGone, NotThere, StoreError):
            raise
        except Exception as error:
            return Made(self._failure(error, errand.visit, errand.way.shown_command))
        return self._begin(errand, answer)

    def _begin(self, errand: Errand, answer: Answer) -> Made:
        """In a thread: with the first piece of a stream. Raises: ClientGone, StoreError."""
        pieces = None
        try:
            body = answer.body
            if isinstance(body, Bytes):
                return Made(answer)
            if isinstance(body, Span):
                answer.headers.append((b"content-length", b"%d" % body.size))
            blocks = body.blocks if isinstance(body, Stream) else read_span(body)
            pieces = Pieces(blocks, errand.work)
            if is_head_alone(errand, answer):
                pieces.close()
                return Made(answer)
            return Made(answer, Begun(pieces, pieces.pull()))
        except (ClientGone, StoreError):
            close_quietly(pieces)
            raise
        except Exception as error:
            close_quietly(pieces)
            return Made(self._failure(error, errand.visit, errand.way.shown_command))

    def _failure(self, error: Exception, visit: Visit, command: str) -> Answer:
        if visit.is_svn and not command:
            return converted(explain_to_svn(error, describe(visit)))
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
        assert made.lane is not None
        idle = self._settings.limits.send_idle_seconds
        sent = self._streams[id(line)] = Sent()
        connection = None
        try:
            if isinstance(begun, Following) and self._settings.server.sendfile:
                connection = await take_connection(visit, begun)
            if connection is not None:
                assert isinstance(begun, Following)
                await send_direct(connection, body, begun, answer.status, headers, idle, sent)
            elif isinstance(begun, Following):
                await send_file(send, body, begun, answer.status, headers, idle, sent)
            else:
                await send_stream(send, body, made.lane, begun, answer.status, headers, idle, sent)
                self.crew.spooled.learn(answer.body, sent.bytes)
        finally:
            del self._streams[id(line)]
        line.bytes = sent.bytes
        if sent.failure is not None:
            line.outcome = "aborted"
            log_broken(sent.failure, describe(visit), sent.bytes)
            raise BrokenReply from None
        if sent.is_gone:
            line.outcome = "gone"
        if sent.is_gone or connection is not None:  # the library has nothing more to say on it
            raise BrokenReply


def is_head_alone(errand: Errand, answer: Answer) -> bool:
    """What is sent tells of a body, and has none. Source: RFC 9110, sections 9.3.2 and 15.4.5."""
    return errand.visit.method == "HEAD" or answer.status == NOT_MODIFIED


async def attend(
    lane: Lane, body: RequestBody, work: Callable[[Errand], Made], errand: Errand
) -> Made:
    """What `work` makes in `lane`. If it takes long, it is watched whether the client stays; it
    has ended in any case. Raises: ClientGone.
    """
    making = lane.run(work, errand)
    await asyncio.wait([making], timeout=ATTEND_SECONDS)
    if not making.done():
        body.gone.add_done_callback(errand.work.leave)
    made = await making
    if errand.work.is_gone and made.begun is None:
        raise ClientGone("the client went away")
    return replace(made, lane=lane)


async def throw_away(body: RequestBody, visit: Visit, limit: int) -> None:
    """A client that waits for a word before it sends has got it. Raises: ClientGone."""
    if body.is_begun or b"expect" not in visit.headers:
        await body.drain(limit)
