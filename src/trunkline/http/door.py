"""From a request to its answer: which repository, which protocol, and whether it is allowed.

Everything here but `way` and `is_quick` may read the disk, so it runs in a thread.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from trunkline import __version__
from trunkline.access.judge import PUSH, READ, Asked, Refusal
from trunkline.config.mercurial import parse_override
from trunkline.config.settings import Settings
from trunkline.errors import PeerError, TrunklineError
from trunkline.hg.wire.answer import Answer, answer, kept_answer, requested_command
from trunkline.hg.wire.kept import ANSWER_LIMIT
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.state import State
from trunkline.http import lfs
from trunkline.http.bundling import Bundling
from trunkline.http.catalogue import Catalogue, Entry
from trunkline.http.errand import Errand, Way
from trunkline.http.failure import (
    NotThere,
    for_people,
    refuse,
    refuse_push,
    text_answer,
    wants_page,
)
from trunkline.http.fresh import Fresh
from trunkline.http.handles import Handles
from trunkline.http.near import near_clients
from trunkline.http.own_url import repository_url
from trunkline.http.quick import Quick
from trunkline.http.roots import Place, Roots, mount_paths
from trunkline.http.subversion import SvnDoor
from trunkline.http.url_path import NOT_FOUND, parse_path
from trunkline.http.visit import Visit, describe
from trunkline.reply import Bytes
from trunkline.web.hgweb_paths import NAMES, NOT_HERE
from trunkline.web.landing import landing_page
from trunkline.web.pages import Link, Page, Row, error_page, index_page, links_up, way_up

States = Fresh[tuple[str, ...], State]

BRIDGED_LIMIT = 10_000  # places that are remembered as bridged

PAGE_METHODS = ("GET", "HEAD")
WIRE_METHODS = ("GET", "HEAD", "POST")


ADVICE = "ask those who run this server to let you read it."


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
        config = overrides(settings, self._roots)
        self._bundling = Bundling(settings)
        self._handles = Handles(config, server.handles, server.handles_bytes, self._bundling.shelf)
        self._catalogue = Catalogue(self._roots, settings.index, self._handles.config)
        self.subversion = SvnDoor(settings, self._roots)
        self._quick = Quick()
        self._is_near = near_clients(settings.hg)
        self._bridged: dict[tuple[str, ...], None] = {}  # names, the oldest first
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
        wish = lfs.parse_wish(visit.raw_path)
        if wish is not None:
            lfs.check_method(wish, visit.method)
            return Way(parse_path(wish.base or b"/", limits), None, wish)
        names = parse_path(visit.raw_path, limits)
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
        refusal = self._why_not_name(errand)
        if refusal is not None:
            return refused(refusal, errand)
        place = self._roots.find(errand.way.names)
        if place is None and errand.way.is_page:
            return self._index(errand)
        served = None if place is None else self._served(place, errand)
        if place is None or served is None:
            raise self._not_there(errand)
        refusals = self._refusals(served, errand)
        if self._is_hidden(refusals.pull):
            raise self._not_there(errand)
        if errand.way.is_page:
            return self._landing(served, place.name, errand, refusals.pull)
        if errand.way.wish is not None:
            return self._large_files(served, errand, errand.way.wish, refusals)
        return self._command(served, errand, refusals)

    def _why_not_name(self, errand: Errand) -> Refusal | None:
        """Of a name that no rule opens, before it is looked for. Not of a page, which may be the
        list of a folder.
        """
        judge = errand.standing.judge
        if errand.way.is_page or not (judge.rules.rights or errand.who.scope):
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
        wants_login = not errand.way.is_page or wants_page(errand.visit.headers)
        has_logins = errand.standing.judge.has_logins
        return NotThere(wants_login and has_logins and errand.who.is_anonymous)

    def _asked(self, errand: Errand, names: tuple[str, ...]) -> Asked:
        return Asked(names, errand.who, errand.judged_method, errand.visit.scheme)

    def quick_answer(self, errand: Errand, fresh: States) -> Answer | None:
        """For what `is_quick`, in the loop's thread: the kept answer. None: a thread is needed.
        Costs some stats, but waits for nobody, and works nothing out. Raises: as `answer`.
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
        if refusals.pull is not None:
            return None
        request = self._request(errand, refusals)
        reply = kept_answer(state, request)
        if reply is None:
            return None
        if announces_push(errand.way, request):
            state.served.bridge.make_ready()
        return self._signed(reply, state.served)

    def _kept_state(self, names: tuple[str, ...]) -> State | None:
        place = self._roots.find(names)
        if place is None or place.identity is None:
            return None
        served = self._handles.kept(place.path, place.identity)
        if served is None or served.repository is None:
            return None
        snapshot = served.repository.kept_snapshot()
        return None if snapshot is None else State(served, snapshot)

    def _command(self, served: Served, errand: Errand, refusals: Refusals) -> Answer:
        way = errand.way
        refusal = refusals.push if way.is_push else refusals.pull
        if refusal is not None:
            reply = self._refuse(refusal, errand)
        else:
            request = self._request(errand, refusals, self._url(served, errand))
            if way.is_push:
                reply = answer(served, request)
            else:
                reply = self._pull(way, request, self._state(served, errand))
        return self._signed(reply, served)

    def _signed(self, reply: Answer, served: Served) -> Answer:
        reply.headers.append((b"server", self._server_header_of(served)))
        return reply

    def _large_files(
        self, served: Served, errand: Errand, wish: lfs.Wish, refusals: Refusals
    ) -> Answer:
        asked = lfs.read_asked(errand.visit, wish, errand.arguments, errand.payload, errand.work)
        refusal = refusals.push if asked.is_writing else refusals.pull
        if refusal is None:
            return lfs.answer(served, asked)
        return for_people(text_answer(refusal.status, refusal.text), errand.visit.headers)

    def _refuse(self, refusal: Refusal, errand: Errand) -> Answer:
        way = errand.way
        asks_login = refusal.status == PUSH.status and errand.standing.judge.has_logins
        if way.is_push and not asks_login:
            return refuse_push(refusal, describe(errand.visit), way.shown_command)
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
            base = visit.base_url
        return repository_url(base, errand.way.names)

    def _pull(self, way: Way, request: Request, state: State) -> Answer:
        self._bundling.notice(state)
        if announces_push(way, request):
            state.served.bridge.make_ready()
        kept = kept_answer(state, request)
        if kept is None:
            return answer(state.served, request, state)
        self._quick.add((way.names, way.command))
        return kept

    def _refusals(self, served: Served, errand: Errand) -> Refusals:
        """Of who is anonymous, worked out once for a configuration."""
        names, visit, judge = errand.way.names, errand.visit, errand.standing.judge

        def work_out() -> Refusals:
            asked = self._asked(errand, self._roots.known_as(names, served.root))
            config = served.config
            return Refusals(judge.why_not_pull(config, asked), judge.why_not_push(config, asked))

        if errand.who.user:
            return work_out()
        key = f"access {errand.judged_method} {visit.scheme} {'/'.join(names)}"
        return served.keep(key, judge, work_out)

    def _landing(
        self, served: Served, name: str, errand: Errand, refusal: Refusal | None
    ) -> Answer:
        """`refusal`: of a pull; it may still be read in a browser."""
        if refusal is not None and refusal.text == READ.text:
            return refused(refusal, errand)
        visit = errand.visit
        links = links_up(name, visit.raw_path)
        page = landing_page(served, name, visit.base_url, refusal is None, links)
        reply = page_answer(page)
        reply.headers.append((b"server", self._server_header_of(served)))
        return reply

    def _index(self, errand: Errand) -> Answer:
        """The list, or the part of it below a folder, of what this visitor may read; where that is
        none, nothing is found.
        """
        names, visit, judge = errand.way.names, errand.visit, errand.standing.judge
        if not self._roots.is_folder(names):
            return self._nothing(errand)

        def may_read(entry: Entry) -> bool:
            known = self._roots.known_as(tuple(entry.path.split("/")), entry.real)
            if entry.config is None and not self.subversion.may_list(entry.path, errand.who):
                return False
            return judge.why_not_read(entry.config, self._asked(errand, known)) is None

        folder = "/".join(names)
        listing = self._catalogue.listing().below(folder).shown_to(may_read)
        if not listing.entries and (folder or (errand.who.is_anonymous and judge.has_logins)):
            return self._nothing(errand)
        rows = [Row(entry.path, entry.name, entry.description) for entry in listing.entries]
        return page_answer(index_page(folder, rows, listing.is_cut, visit.raw_path))

    def _nothing(self, errand: Errand) -> Answer:
        """Below a repository, as hgweb has its pages, its own page is named; not below one that
        must seem not to be there. Raises: PeerError.
        """
        visit, names = errand.visit, errand.way.names
        place = self._place_above(errand)
        if place is None:
            raise self._not_there(errand)
        below = names[len(place.name.split("/")) if place.name else 0]
        text = f"{NOT_FOUND}: {NOT_HERE}" if below in NAMES else NOT_FOUND
        if not wants_page(visit.headers):
            raise PeerError(text, status=404)
        way = way_up(visit.raw_path) + (Row(place.name, "", "").href if place.name else "")
        link = Link("The repository's page", way or "./")
        return page_answer(error_page(404, text, link=link))

    def _place_above(self, errand: Errand) -> Place | None:
        """The nearest repository, if this visitor may read it."""
        names = errand.way.names
        counts = range(len(names) - 1, -1, -1)
        place = next(filter(None, (self._roots.find(names[:count]) for count in counts)), None)
        if place is None:
            return None
        known = self._roots.known_as(tuple(filter(None, place.name.split("/"))), place.path)
        config = self._handles.config(place.path)
        refusal = errand.standing.judge.why_not_read(config, self._asked(errand, known))
        return None if self._is_hidden(refusal) else place

    def _request(self, errand: Errand, refusals: Refusals, url: str = "") -> Request:
        return read_request(errand, refusals.push is None, self._is_near(errand.visit), url)

    def _server_header_of(self, served: Served) -> bytes:
        def make() -> bytes:
            value = served.config.get("web", "server-header")
            return clean_header(value) if value else self.server_header

        return served.keep("server header", served.config, make)


def announces_push(way: Way, request: Request) -> bool:
    """Phases by themselves are what clients ask for when they are going to push.
    Source: hg 7.2.4, mercurial/exchange.py (_pushdiscoveryphase).
    """
    is_phases = way.command == b"listkeys" and request.body == b"namespace=phases"
    return is_phases and request.may_push


def read_request(errand: Errand, may_push: bool, is_near: bool, url: str = "") -> Request:
    visit = errand.visit
    return Request(
        method=visit.method,
        query=visit.query,
        headers=visit.headers,
        body=errand.arguments,
        may_push=may_push,
        payload=errand.payload,
        user=errand.who.user or None,
        address=visit.address,
        scheme=visit.scheme,
        url=url,
        is_near=is_near,
        may_need_login=errand.who.is_anonymous and errand.standing.auth.has_users,
        work=errand.work,
    )


def page_answer(page: Page) -> Answer:
    return Answer(page.status, page.headers, Bytes(page.html))


def refused(refusal: Refusal, errand: Errand) -> Answer:
    if errand.way.is_page:
        advice = ADVICE.capitalize()
        if errand.who.is_anonymous:
            has_logins = errand.standing.judge.has_logins
            advice = "Sign in to read it." if has_logins else f"Nobody can sign in here: {ADVICE}"
        return page_answer(error_page(refusal.status, refusal.text, advice))
    return refuse(refusal, errand.way.shown_command)


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
