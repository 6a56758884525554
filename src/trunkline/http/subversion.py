"""The way to a Subversion repository: the first folder of a path that is one takes the rest."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock

from trunkline.config.settings import Settings
from trunkline.errors import PeerError
from trunkline.http.roots import Roots, SvnIdentity, is_served, svn_identity
from trunkline.http.url_path import parse_name
from trunkline.http.visit import Visit
from trunkline.svn.dav.answer import answer
from trunkline.svn.dav.exchange import Served
from trunkline.svn.dav.failure import DavError, explain
from trunkline.svn.dav.request import Answer, Request
from trunkline.svn.dav.url import unquote
from trunkline.svn.repository.session import Rules, Sessions
from trunkline.svn.txn.area import Area

FOUND_LIMIT = 10_000  # repositories whose check is kept


@dataclass(frozen=True, slots=True)
class SvnPlace:
    """A repository on disk, and how a URL is cut at it. `path` has no symlinks."""

    path: str
    identity: SvnIdentity
    base: bytes
    rest: bytes


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `user` None is nobody; `has_logins` tells whether logging in could help."""

    user: str | None = None
    may_write: bool = False
    has_logins: bool = False


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

    def find(self, raw_path: bytes) -> SvnPlace | None:
        """Costs a stat for each folder on the way."""
        raw_names = raw_path.lstrip(b"/").split(b"/")
        names: list[str] = []
        for count in range(min(len(raw_names), self._settings.limits.path_segments) + 1):
            if count:
                try:
                    names.append(parse_name(raw_names[count - 1]))
                except PeerError:
                    return None
            found = self._at(tuple(names))
            if found is not None:
                base = b"".join(b"/" + name for name in raw_names[:count])
                rest = b"".join(b"/" + name for name in raw_names[count:])
                return SvnPlace(found[1], found[0], base, rest)
        return None

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

    def answer(
        self, place: SvnPlace, visit: Visit, blocks: Iterable[bytes], caller: Caller
    ) -> Answer:
        """In a thread."""
        subversion = self._settings.subversion
        served = Served(
            path=os.fsencode(place.path),
            identity=place.identity,
            sessions=self._sessions,
            area=self._area,
            is_v2=subversion.http_v2,
            bulk=subversion.bulk_updates.encode(),
            xml_limit=subversion.xml_bytes,
            report_limit=subversion.report_bytes,
            compression=subversion.compression,
            rules=self._rules(place),
            autoversioning=subversion.autoversioning,
            has_logins=caller.has_logins,
        )
        request = Request(
            method=visit.method,
            base=place.base,
            raw_path=place.rest or b"/",
            query=visit.query,
            headers=visit.headers,
            blocks=blocks,
            user=None if caller.user is None else caller.user.encode(),
            may_write=caller.may_write,
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


def no_repository() -> Answer:
    """For a Subversion client that asks for what is none; as stock words it."""
    error = DavError(404, 2, "Could not find the requested SVN filesystem")
    return explain(error, "")


def default_area() -> str:
    """A folder of the account's own."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "trunkline", "svn-transactions")
