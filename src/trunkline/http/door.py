"""From a request to its answer: which repository, which protocol, and whether it is allowed.

Everything here but `way` and `is_quick` may read the disk, so it runs in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from trunkline import __version__
from trunkline.access.current import Standing
from trunkline.access.identity import ANONYMOUS, Identity
from trunkline.access.judge import READ, Asked, Refusal
from trunkline.config.mercurial import parse_override
from trunkline.config.settings import Settings
from trunkline.errors import PeerError, TrunklineError
from trunkline.hg.wire.answer import Answer, answer, kept_answer, requested_command
from trunkline.hg.wire.command import Kind, Permission
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.state import State
from trunkline.hg.wire.table import COMMANDS
from trunkline.http.catalogue import Catalogue, Entry
from trunkline.http.failure import NotThere, refuse
from trunkline.http.fresh import Fresh
from trunkline.http.handles import Handles
from trunkline.http.quick import HEADERS_LIMIT, REQUEST_LIMIT, NotQuick, Quick, QuickWork
from trunkline.http.roots import Place, Roots, mount_paths
from trunkline.http.url_path import parse_path
from trunkline.http.visit import Visit
from trunkline.reply import Bytes
from trunkline.web.landing import landing_page
from trunkline.web.pages import Page, Row, error_page, index_page
from trunkline.work import Work

States = Fresh[tuple[str, ...], State]

BRIDGED_LIMIT = 10_000  # places that are remembered as bridged

PAGE_METHODS = ("GET", "HEAD")
WIRE_METHODS = ("GET", "HEAD", "POST")
PAYLOAD_COMMAND = b"unbundle"

# Where clients of an LFS repository ask for large contents. 400: they then tell their user to check
# whether the server serves them. Source: hg 7.2.4, hgext/lfs/blobstore.py.
LFS_NAMES = (".git", "info", "lfs")
LFS_WORDS = "the contents of large files (LFS) aren't served here; lfs.url can name who does"


@dataclass(frozen=True, slots=True)
class Way:
    """Where a request wants to go. `command` is None for a page."""

    names: tuple[str, ...]
    command: bytes | None

    @property
    def shown_command(self) -> str:
        """For the log: only words that are commands, the rest is whatever a client wrote."""
        return self.command.decode() if self.command in COMMANDS and self.command else ""

    @property
    def is_push(self) -> bool:
        command = COMMANDS.get(self.command or b"")
        return command is not None and command.permission is Permission.PUSH

    @property
    def is_short(self) -> bool:
        """Its answer is a text, and nothing is written."""
        command = COMMANDS.get(self.command or b"")
        return (
            command is not None
            and command.kind is Kind.TEXT
            and command.permission is Permission.PULL
        )

    @property
    def has_payload(self) -> bool:
        return self.command == PAYLOAD_COMMAND


@dataclass(slots=True)
class Errand:
    """One request on its way to an answer. `standing`: what holds about access for all of it.
    `may_wait`: its thread is for those that wait for other processes.
    """

    visit: Visit
    way: Way
    standing: Standing
    who: Identity = ANONYMOUS
    arguments: bytes = b""
    payload: Iterator[bytes] | None = None
    work: Work = field(default_factory=Work)
    may_wait: bool = False


@dataclass(frozen=True, slots=True)
class Refusals:
    """None where it is allowed."""

    pull: Refusal | None
    push: Refusal | None


class Bridged(TrunklineError):
    """The installed Mercurial serves it, which may have to be waited for."""


class Door:
    """One for each worker. Thread-safe."""

    def __init__(self, settings: Settings, roots: Roots | None = None) -> None:
        self._settings = settings
        self._roots = roots or mount_paths(settings.paths)
        server = settings.server
        self._handles = Handles(settings.config, server.handles, server.handles_bytes)
        self._catalogue = Catalogue(self._roots, settings.index, self._handles.config)
        self._quick = Quick()
        self._bridged: dict[tuple[str, ...], None] = {}  # names, the oldest first
        self.server_header = configured_server_header(settings)

    def warm(self) -> None:
        """Do now what the first request would wait for. What fails will fail again for that."""
        repository = self._roots.single_repository
        if repository is not None:
            with suppress(TrunklineError):
                self._handles.get(repository)

    def way(self, visit: Visit) -> Way:
        """Costs no disk. Raises: PeerError."""
        limits = self._settings.limits
        if len(visit.query) > limits.query_bytes:
            raise PeerError(f"the query is longer than {limits.query_bytes} bytes", status=414)
        names = parse_path(visit.raw_path, limits)
        if ".git" in names and names[(at := names.index(".git")) : at + 3] == LFS_NAMES:
            raise PeerError(LFS_WORDS)
        command = requested_command(visit.query) if b"cmd=" in visit.query else None
        if visit.method not in (PAGE_METHODS if command is None else WIRE_METHODS):
            raise PeerError(f"nothing here answers to {visit.method[:20]}", status=405)
        return Way(names, command)

    def is_quick(self, visit: Visit, way: Way, arguments: bytes) -> bool:
        """Whether `answer` is so quick that a thread would cost more."""
        return (
            way.is_short
            and len(visit.query) + len(arguments) <= REQUEST_LIMIT
            and len(visit.headers) <= HEADERS_LIMIT
            and self._quick.is_quick((way.names, way.command or b""))
        )

    def is_bridged(self, way: Way) -> bool:
        """Whether it was, when last asked. Costs no disk."""
        return way.command is not None and way.names in self._bridged

    def answer(self, errand: Errand) -> Answer:
        """Raises: PeerError, StoreError, SettingsError; Bridged, of an errand that mayn't wait."""
        refusal = self._why_not_name(errand)
        if refusal is not None:
            return refused(refusal, errand)
        place = self._roots.find(errand.way.names)
        if place is None and errand.way.command is None:
            return self._index(errand)
        served = None if place is None else self._served(place, errand)
        if place is None or served is None:
            raise self._not_there(errand)
        refusals = self._refusals(served, errand)
        if self._is_hidden(refusals.pull):
            raise self._not_there(errand)
        if errand.way.command is None:
            return self._landing(served, place.name, errand, refusals.pull)
        return self._command(served, errand, refusals, None)

    def _why_not_name(self, errand: Errand) -> Refusal | None:
        """Of a name that no rule opens, before it is looked for. Not of a page, which may be the
        list of a folder.
        """
        judge = errand.standing.judge
        if errand.way.command is None or not (judge.rules.rights or errand.who.scope):
            return None
        return judge.why_not_name(self._asked(errand, ("/".join(errand.way.names),)))

    def _served(self, place: Place, errand: Errand) -> Served | None:
        """None where it isn't open, and must seem not to be there: to open it takes a while.

        Raises: StoreError, SettingsError.
        """
        assert place.identity is not None
        served = self._handles.kept(place.path, place.identity)
        if served is None:
            asked = self._asked(errand, self._roots.known_as(errand.way.names, place.path))
            config = self._handles.config(place.path)
            if self._is_hidden(errand.standing.judge.why_not_read(config, asked)):
                return None
        return served or self._handles.get(place.path, place.identity)

    def _is_hidden(self, refusal: Refusal | None) -> bool:
        """That there is a repository at `/`, where nothing else is, is no secret."""
        return (
            refusal is not None
            and refusal.text == READ.text
            and self._roots.single_repository is None
        )

    def _not_there(self, errand: Errand) -> NotThere:
        """A browser's picture of a site, a robot's file of rules: nobody asks those to log in."""
        wants_login = errand.way.command is not None or errand.visit.wants_page
        has_logins = errand.standing.judge.has_logins
        return NotThere(wants_login and has_logins and errand.who.is_anonymous)

    def _asked(self, errand: Errand, names: tuple[str, ...]) -> Asked:
        visit = errand.visit
        return Asked(names, errand.who, visit.method, visit.scheme)

    def quick_answer(self, errand: Errand, fresh: States) -> Answer | None:
        """For what `is_quick`, in the loop's thread; None: a thread is needed after all. Costs
        some stats, but waits for nobody. Raises: as `answer`.
        """
        if self._why_not_name(errand) is not None:
            return None
        names = errand.way.names
        state = fresh.get(names)
        if state is None:
            fresh.begin()
            state = self._kept_state(names)
            if state is None:
                return None
            fresh.put(names, state)
        refusals = self._refusals(state.served, errand)
        if self._is_hidden(refusals.pull):
            return None
        snapshot = state.snapshot

        def is_warm(command: bytes) -> bool:
            return self._quick.is_warm((names, command), snapshot)

        try:
            quick = Errand(
                errand.visit,
                errand.way,
                errand.standing,
                errand.who,
                errand.arguments,
                work=QuickWork(is_warm),
            )
            return self._command(state.served, quick, refusals, state)
        except NotQuick:
            return None

    def _kept_state(self, names: tuple[str, ...]) -> State | None:
        place = self._roots.find(names)
        if place is None or place.identity is None:
            return None
        served = self._handles.kept(place.path, place.identity)
        if served is None or served.repository is None:
            return None
        snapshot = served.repository.kept_snapshot()
        return None if snapshot is None else State(served, snapshot)

    def _command(
        self, served: Served, errand: Errand, refusals: Refusals, state: State | None
    ) -> Answer:
        visit, way = errand.visit, errand.way
        refusal = refusals.push if way.is_push else refusals.pull
        if refusal is not None:
            reply = refuse(refusal, way.shown_command)
        else:
            request = Request(
                method=visit.method,
                query=visit.query,
                headers=visit.headers,
                body=errand.arguments,
                may_push=refusals.push is None,
                payload=errand.payload,
                user=errand.who.user or None,
                address=visit.address,
                scheme=visit.scheme,
                may_need_login=errand.who.is_anonymous and errand.standing.auth.has_users,
                work=errand.work,
            )
            if way.is_push:
                reply = answer(served, request)
            else:
                state = state or self._state(served, errand)
                reply = self._pull(way, request, state)
        reply.headers.append((b"server", self._server_header_of(served)))
        return reply

    def _state(self, served: Served, errand: Errand) -> State:
        """Raises: Bridged."""
        state, names = State(served), errand.way.names
        if state.snapshot is not None:
            self._bridged.pop(names, None)
            return state
        self._bridged[names] = None
        while len(self._bridged) > BRIDGED_LIMIT:
            with suppress(KeyError, StopIteration, RuntimeError):  # another thread was faster
                del self._bridged[next(iter(self._bridged))]
        if not errand.may_wait:
            raise Bridged("it goes through the bridge")
        return state

    def _pull(self, way: Way, request: Request, state: State) -> Answer:
        begun = time.perf_counter()
        kept = kept_answer(state, request)
        reply = kept or answer(state.served, request, state)
        if state.snapshot is not None and way.is_short:
            self._quick.learn((way.names, way.command or b""), time.perf_counter() - begun)
            if request.work.commands:
                self._quick.warm(way.names, request.work.commands, state.snapshot)
        return reply

    def _refusals(self, served: Served, errand: Errand) -> Refusals:
        """Of who is anonymous, worked out once for a configuration."""
        names, visit, judge = errand.way.names, errand.visit, errand.standing.judge

        def work_out() -> Refusals:
            asked = self._asked(errand, self._roots.known_as(names, served.root))
            config = served.config
            return Refusals(judge.why_not_pull(config, asked), judge.why_not_push(config, asked))

        if errand.who.user:
            return work_out()
        key = f"access {visit.method} {visit.scheme} {'/'.join(names)}"
        return served.keep(key, judge, work_out)

    def _landing(
        self, served: Served, name: str, errand: Errand, refusal: Refusal | None
    ) -> Answer:
        """`refusal`: of a pull; it may still be read in a browser."""
        if refusal is not None and refusal.text == READ.text:
            return refused(refusal, errand)
        url = f"{errand.visit.scheme}://{errand.visit.host}"
        reply = page_answer(landing_page(served, name, url, refusal is None))
        reply.headers.append((b"server", self._server_header_of(served)))
        return reply

    def _index(self, errand: Errand) -> Answer:
        """The list, or the part of it below a folder, of what this visitor may read; where that is
        none, nothing is found.
        """
        names, visit, judge = errand.way.names, errand.visit, errand.standing.judge
        if not self._roots.is_folder(names):
            raise self._not_there(errand)

        def may_read(entry: Entry) -> bool:
            known = self._roots.known_as(tuple(entry.path.split("/")), entry.real)
            return judge.why_not_read(entry.config, self._asked(errand, known)) is None

        folder = "/".join(names)
        listing = self._catalogue.listing().below(folder).shown_to(may_read)
        if not listing.entries and (folder or (errand.who.is_anonymous and judge.has_logins)):
            raise self._not_there(errand)
        rows = [Row(entry.path, entry.name, entry.description) for entry in listing.entries]
        return page_answer(index_page(folder, rows, listing.is_cut, visit.raw_path))

    def _server_header_of(self, served: Served) -> bytes:
        def make() -> bytes:
            value = served.config.get("web", "server-header")
            return clean_header(value) if value else self.server_header

        return served.keep("server header", served.config, make)


def page_answer(page: Page) -> Answer:
    return Answer(page.status, page.headers, Bytes(page.html))


def refused(refusal: Refusal, errand: Errand) -> Answer:
    if errand.way.command is None:
        return page_answer(error_page(refusal.status, refusal.text))
    return refuse(refusal, errand.way.shown_command)


def configured_server_header(settings: Settings) -> bytes:
    for text in reversed(settings.config):
        section, name, value = parse_override(text)
        if (section, name) == ("web", "server-header") and value:
            return clean_header(value)
    return f"trunkline/{__version__}".encode()


def clean_header(value: str) -> bytes:
    """No byte that would end a header early."""
    return "".join(char for char in value if char.isprintable()).encode("utf-8", "replace")
