"""The way to a Subversion repository: the first folder of a path that is one takes the rest."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock

from trunkline.access.identity import Identity
from trunkline.access.judge import READ, UNAUTHORIZED, Asked, Refusal
from trunkline.config.settings import Settings
from trunkline.config.subversion import Subversion
from trunkline.errors import PeerError
from trunkline.http.errand import Errand
from trunkline.http.failure import NotThere, explain_to_svn, speaks_dav
from trunkline.http.lfs import parse_wish
from trunkline.http.roots import Roots, SvnIdentity, is_served, svn_identity
from trunkline.http.url_path import parse_name
from trunkline.http.visit import Visit, describe
from trunkline.svn.commit.limits import Limits
from trunkline.svn.dav.answer import WRITES, answer
from trunkline.svn.dav.exchange import Served
from trunkline.svn.dav.request import Answer, Request
from trunkline.svn.dav.url import unquote
from trunkline.svn.repository.authz import Authz, Right
from trunkline.svn.repository.session import Rules, Sessions
from trunkline.svn.txn.area import Area

FOUND_LIMIT = 10_000  # repositories whose check is kept
FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class SvnPlace:
    """A repository on disk, and how a URL is cut at it: `names` are those of `base`. `path` has no
    symlinks.
    """

    path: str
    names: tuple[str, ...]
    identity: SvnIdentity
    base: bytes
    rest: bytes


@dataclass(frozen=True, slots=True)
class Admitted:
    """Somebody who may read a repository, and perhaps write to it: `refusal` is a status.
    `has_logins`: who is anonymous could log in.
    """

    place: SvnPlace
    user: str
    refusal: int | None
    has_logins: bool


class SvnDoor:
    """One for each worker. Thread-safe."""

    def __init__(self, settings: Settings, roots: Roots) -> None:
        self._settings = settings
        self._roots = roots
        self._sessions = Sessions(settings.subversion.sessions)
        subversion = settings.subversion
        self._area = Area(subversion.transactions or default_area(), subversion.transaction_hours)
        self._real: dict[str, tuple[SvnIdentity, str]] = {}
        self._lock = Lock()
        self._authz = Authz(os.fsencode(subversion.access_file)) if subversion.access_file else None
        self._authz_lock = Lock()

    def find(self, raw_path: bytes) -> SvnPlace | None:
        """Costs a stat for each folder on the way."""
        raw_names = raw_path.lstrip(b"/").split(b"/")
        names = self._names(raw_names)
        for count in range(len(names) + 1):
            found = self._at(names[:count])
            if found is not None:
                base = b"".join(b"/" + name for name in raw_names[:count])
                rest = b"".join(b"/" + name for name in raw_names[count:])
                return SvnPlace(found[1], names[:count], found[0], base, rest)
        return None

    def _names(self, raw_names: list[bytes]) -> tuple[str, ...]:
        """Those at the beginning that folders may have."""
        names: list[str] = []
        for raw in raw_names[: self._settings.limits.path_segments]:
            try:
                names.append(parse_name(raw))
            except PeerError:
                break
        return tuple(names)

    def _at(self, names: tuple[str, ...]) -> tuple[SvnIdentity, str] | None:
        mount, below = self._roots.locate(names)
        if mount is None or (mount.is_repository and below):
            return None
        path = os.path.join(mount.root, *below)
        identity = svn_identity(path)
        if identity is None:
            return None
        with self._lock:
            known = self._real.get(path)
        if known is not None and known[0] == identity:
            return known
        real = os.path.realpath(path)
        if below and not is_served(real, mount.root):
            return None
        with self._lock:
            if len(self._real) >= FOUND_LIMIT:
                self._real.clear()
            self._real[path] = identity, real
        return identity, real

    def admit(self, errand: Errand) -> Admitted | None:
        """In a thread. None: it is for no Subversion repository, or for one that this visitor
        mustn't know of, and goes the way of what is none. Raises: NotThere.
        """
        visit, who, judge = errand.visit, errand.who, errand.standing.judge
        named = self._named(errand) if visit.is_svn else []
        if named and all(named):  # so nothing on disk is looked at
            raise PeerError(READ.text, status=named[0] or FORBIDDEN)
        place = self.find(visit.raw_path)
        if place is not None:
            asked = self._asked(errand, self._roots.known_as(place.names, place.path))
            if judge.why_not_read(None, asked) is None:
                refusal = judge.why_not_commit(asked, self._authz is not None)
                status = None if refusal is None else self._status(refusal, errand)
                return Admitted(place, who.user, status, judge.has_logins)
        if not speaks_dav(visit) or parse_wish(visit.raw_path) is not None:
            return None
        asks_login = who.is_anonymous and judge.has_logins
        if visit.is_svn:
            raise NotThere(asks_login, next(filter(None, named), None))
        if asks_login:
            raise NotThere(asks_login)
        return None

    def _named(self, errand: Errand) -> list[int | None]:
        """Of each name that a repository on the way may have, the status of a refusal by rules,
        whether or not there is anything.
        """
        judge = errand.standing.judge
        names = self._names(errand.visit.raw_path.lstrip(b"/").split(b"/"))
        first = 1 if self._at(()) is None else 0
        found = []
        for count in range(first, len(names) + 1):
            refusal = judge.why_not_name(self._asked(errand, ("/".join(names[:count]),)))
            found.append(None if refusal is None else self._status(refusal, errand))
        return found

    def _status(self, refusal: Refusal, errand: Errand) -> int:
        """Clients ask for a password where one may help, and only there."""
        return (
            UNAUTHORIZED
            if refusal.status == UNAUTHORIZED and errand.standing.judge.has_logins
            else FORBIDDEN
        )

    def _asked(self, errand: Errand, names: tuple[str, ...]) -> Asked:
        return Asked(names, errand.who, errand.visit.method, errand.visit.scheme)

    def may_list(self, name: str, who: Identity) -> bool:
        """Whether a repository's root may be read by the rules for paths, if there are any."""
        if self._authz is None:
            return True
        with self._authz_lock:
            self._authz.refresh()
            user = os.fsencode(who.user) or None
            return self._authz.allows(os.fsencode(name), b"/", user, Right.READ)

    def answer(self, admitted: Admitted, visit: Visit, blocks: Iterable[bytes]) -> Answer:
        """In a thread."""
        place, subversion = admitted.place, self._settings.subversion
        if admitted.refusal is not None and visit.method in WRITES:
            refused = PeerError("writing isn't allowed here", status=admitted.refusal)
            return explain_to_svn(refused, describe(visit))
        served = Served(
            path=os.fsencode(place.path),
            identity=place.identity,
            sessions=self._sessions,
            area=self._area,
            is_v2=subversion.http_v2,
            bulk=subversion.bulk_updates.encode(),
            xml_limit=subversion.xml_bytes,
            report_limit=subversion.report_bytes,
            commit_limits=commit_limits(subversion),
            compression=subversion.compression,
            rules=self._rules(place),
            autoversioning=subversion.autoversioning,
            index_stylesheet=subversion.index_stylesheet.encode(),
            has_logins=admitted.has_logins,
        )
        request = Request(
            method=visit.method,
            base=visit.prefix + place.base,
            raw_path=place.rest or b"/",
            query=visit.query,
            headers=visit.headers,
            blocks=blocks,
            user=os.fsencode(admitted.user) or None,
            may_write=admitted.refusal is None,
            scheme=visit.scheme,
        )
        return answer(served, request)

    def _rules(self, place: SvnPlace) -> Rules | None:
        file = self._settings.subversion.access_file
        if not file:
            return None
        return Rules(os.fsencode(file), unquote(place.base).lstrip(b"/"))

    def close(self) -> None:
        self._sessions.close()
        with self._authz_lock:
            if self._authz is not None:
                self._authz.close()


def commit_limits(subversion: Subversion) -> Limits:
    return Limits(
        record=subversion.xml_bytes,
        text=subversion.body_bytes,
        stream=subversion.commit_bytes,
        operations=subversion.commit_operations,
        tokens=subversion.commit_lock_tokens,
        wait=subversion.commit_wait_seconds,
    )


def default_area() -> str:
    """A folder of the account's own."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "trunkline", "svn-transactions")
