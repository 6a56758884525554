"""From a request to its answer: which repository, which protocol, and whether it is allowed.

Everything here but `way` and `is_quick` may read the disk, so it runs in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from trunkline import __version__
from trunkline.config.mercurial import parse_override
from trunkline.config.settings import Settings
from trunkline.errors import PeerError, TrunklineError
from trunkline.hg.wire.answer import Answer, answer, kept_answer, requested_command
from trunkline.hg.wire.command import Kind, Permission
from trunkline.hg.wire.kept import ANSWER_LIMIT
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.state import State
from trunkline.hg.wire.table import COMMANDS
from trunkline.http.access import Refusal, why_not_pull, why_not_push, why_not_read
from trunkline.http.bundling import Bundling
from trunkline.http.catalogue import Catalogue
from trunkline.http.failure import refuse, refuse_push, wants_page
from trunkline.http.fresh import Fresh
from trunkline.http.handles import Handles
from trunkline.http.own_url import repository_url
from trunkline.http.quick import Quick
from trunkline.http.roots import Roots, mount_paths
from trunkline.http.url_path import NOT_FOUND, parse_path
from trunkline.http.visit import Visit, describe
from trunkline.reply import Bytes
from trunkline.web.hgweb_paths import NAMES, NOT_HERE
from trunkline.web.landing import landing_page
from trunkline.web.pages import Link, Page, Row, error_page, index_page, links_up, way_up
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


ADVICE = "Nobody can sign in here as yet: ask those who run this server to let you read it."


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
    """One request on its way to an answer. `may_wait`: its thread is for those that wait for other
    processes.
    """

    visit: Visit
    way: Way
    arguments: bytes = b""
    payload: Iterator[bytes] | None = None
    work: Work = field(default_factory=Work)
    may_wait: bool = False


class Bridged(TrunklineError):
    """The installed Mercurial serves it, which may have to be waited for."""


class Door:
    """One for each worker. Thread-safe."""

    def __init__(self, settings: Settings, roots: Roots | None = None) -> None:
        self._settings = settings
        self._roots = roots or mount_paths(settings.paths)
        server = settings.server
        config = overrides(settings, self._roots)
        self._bundling = Bundling(settings)
        self._handles = Handles(config, server.handles, server.handles_bytes, self._bundling.shelf)
        self._catalogue = Catalogue(self._roots, settings.index, self._handles.config)
        self._quick = Quick()
        self._bridged: dict[tuple[str, ...], None] = {}  # names, the oldest first
        self._allow_anonymous = settings.allow_write == "anonymous"
        self.server_header = configured_server_header(settings)

    @property
    def shelf_folder(self) -> str:
        """Of the clone bundles that we make; "" for none."""
        return self._bundling.folder

    def close(self) -> None:
        self._bundling.close()

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
        """Whether the answer may be a kept one: giving that costs less than a thread."""
        return (
            way.is_short
            and len(visit.query) + len(arguments) <= ANSWER_LIMIT
            and (way.names, way.command) in self._quick
        )

    def is_bridged(self, way: Way) -> bool:
        """Whether it was, when last asked. Costs no disk."""
        return way.command is not None and way.names in self._bridged

    def answer(self, errand: Errand) -> Answer:
        """Raises: PeerError, StoreError, SettingsError; Bridged, of an errand that mayn't wait."""
        visit, way = errand.visit, errand.way
        if way.command is None:
            place = self._roots.find(way.names)
            if place is None:
                return self._index(way.names, visit)
            served = self._handles.get(place.path, place.identity)
            return self._landing(served, place.name, visit)
        place = self._roots.find(way.names)
        if place is None:
            raise PeerError(NOT_FOUND, status=404)
        served = self._handles.get(place.path, place.identity)
        return self._command(served, errand)

    def quick_answer(self, errand: Errand, fresh: States) -> Answer | None:
        """For what `is_quick`, in the loop's thread: the kept answer. None: a thread is needed.
        Costs some stats, but waits for nobody, and works nothing out. Raises: as `answer`.
        """
        names = errand.way.names
        state = fresh.get(names)
        if state is None:
            fresh.begin()
            state = self._kept_state(names)
            if state is None:
                return None
            fresh.put(names, state)
        why_not, why_no_push = self._refusals(
            state.served, errand.visit.method, errand.visit.scheme
        )
        reply = None if why_not else kept_answer(state, read_request(errand, why_no_push is None))
        return None if reply is None else self._signed(reply, state.served)

    def _kept_state(self, names: tuple[str, ...]) -> State | None:
        place = self._roots.find(names)
        if place is None or place.identity is None:
            return None
        served = self._handles.kept(place.path, place.identity)
        if served is None or served.repository is None:
            return None
        snapshot = served.repository.kept_snapshot()
        return None if snapshot is None else State(served, snapshot)

    def _command(self, served: Served, errand: Errand) -> Answer:
        visit, way = errand.visit, errand.way
        why_no_pull, why_no_push = self._refusals(served, visit.method, visit.scheme)
        refusal = why_no_push if way.is_push else why_no_pull
        if refusal is not None:
            reply = self._refuse(refusal, visit, way)
        else:
            request = read_request(errand, why_no_push is None, self._url(served, errand))
            if way.is_push:
                reply = answer(served, request)
            else:
                reply = self._pull(way, request, self._state(served, errand))
        return self._signed(reply, served)

    def _signed(self, reply: Answer, served: Served) -> Answer:
        reply.headers.append((b"server", self._server_header_of(served)))
        return reply

    def _refuse(self, refusal: Refusal, visit: Visit, way: Way) -> Answer:
        if way.is_push:
            return refuse_push(refusal, describe(visit), way.shown_command)
        return refuse(refusal, way.shown_command)

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

    def _url(self, served: Served, errand: Errand) -> str:
        """Of the repository, as this client reaches it; "" where that can't be told."""
        visit = errand.visit
        base = self._settings.server.public_url
        base = base or served.config.text("web", "baseurl", untrusted=True)
        if not base and visit.reached_host:
            base = f"{visit.scheme}://{visit.reached_host}"
        return repository_url(base, errand.way.names)

    def _pull(self, way: Way, request: Request, state: State) -> Answer:
        self._bundling.notice(state)
        kept = kept_answer(state, request)
        if kept is None:
            return answer(state.served, request, state)
        self._quick.add((way.names, way.command))
        return kept

    def _refusals(
        self, served: Served, method: str, scheme: str
    ) -> tuple[Refusal | None, Refusal | None]:
        """Of a pull and of a push; worked out once for a configuration."""
        config = served.config

        def judge() -> tuple[Refusal | None, Refusal | None]:
            push = why_not_push(config, method, scheme, self._allow_anonymous)
            return why_not_pull(config), push

        return served.keep(f"access {method} {scheme}", config, judge)

    def _landing(self, served: Served, name: str, visit: Visit) -> Answer:
        refusal = why_not_read(served.config)
        if refusal is not None:
            return refused_page(refusal)
        may_pull = why_not_pull(served.config) is None
        links = links_up(name, visit.raw_path)
        page = landing_page(served, name, f"{visit.scheme}://{visit.host}", may_pull, links)
        reply = page_answer(page)
        reply.headers.append((b"server", self._server_header_of(served)))
        return reply

    def _index(self, names: tuple[str, ...], visit: Visit) -> Answer:
        """The list, or the part of it below a folder; where there is none, nothing is found."""
        if not self._roots.is_folder(names):
            return self._nothing(names, visit)
        folder = "/".join(names)
        listing = self._catalogue.listing().below(folder)
        if folder and not listing.entries:
            return self._nothing(names, visit)
        rows = [Row(entry.path, entry.name, entry.description) for entry in listing.entries]
        return page_answer(index_page(folder, rows, listing.is_cut, visit.raw_path))

    def _nothing(self, names: tuple[str, ...], visit: Visit) -> Answer:
        """Below a repository, as hgweb has its pages, its own page is named. Raises: PeerError."""
        counts = range(len(names) - 1, -1, -1)
        place = next(filter(None, (self._roots.find(names[:count]) for count in counts)), None)
        if place is None:
            raise PeerError(NOT_FOUND, status=404)
        below = names[len(place.name.split("/")) if place.name else 0]
        text = f"{NOT_FOUND}: {NOT_HERE}" if below in NAMES else NOT_FOUND
        if not wants_page(visit.headers):
            raise PeerError(text, status=404)
        way = way_up(visit.raw_path) + (Row(place.name, "", "").href if place.name else "")
        link = Link("The repository's page", way or "./")
        return page_answer(error_page(404, text, link=link))

    def _server_header_of(self, served: Served) -> bytes:
        def make() -> bytes:
            value = served.config.get("web", "server-header")
            return clean_header(value) if value else self.server_header

        return served.keep("server header", served.config, make)


def read_request(errand: Errand, may_push: bool, url: str = "") -> Request:
    visit = errand.visit
    return Request(
        method=visit.method,
        query=visit.query,
        headers=visit.headers,
        body=errand.arguments,
        may_push=may_push,
        payload=errand.payload,
        address=visit.address,
        scheme=visit.scheme,
        url=url,
        work=errand.work,
    )


def page_answer(page: Page) -> Answer:
    return Answer(page.status, page.headers, Bytes(page.html))


def refused_page(refusal: Refusal) -> Answer:
    return page_answer(error_page(refusal.status, refusal.text, ADVICE))


def overrides(settings: Settings, roots: Roots) -> list[str]:
    """`config`, less a name for one repository that many would get."""
    if roots.single_repository is not None:
        return settings.config
    return [text for text in settings.config if parse_override(text)[:2] != ("web", "name")]


def configured_server_header(settings: Settings) -> bytes:
    for text in reversed(settings.config):
        section, name, value = parse_override(text)
        if (section, name) == ("web", "server-header") and value:
            return clean_header(value)
    return f"trunkline/{__version__}".encode()


def clean_header(value: str) -> bytes:
    """No byte that would end a header early."""
    return "".join(char for char in value if char.isprintable()).encode("utf-8", "replace")
