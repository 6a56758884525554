"""One request while it is answered: its session, its resource, and what methods ask of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property

from trunkline.errors import PeerError
from trunkline.reply import Stream
from trunkline.svn.commit.limits import Limits
from trunkline.svn.dav.failure import Bare
from trunkline.svn.dav.names import XML_TYPE
from trunkline.svn.dav.pushed import Output, Pushed
from trunkline.svn.dav.request import Answer, Request
from trunkline.svn.dav.svndiff import accepted_version
from trunkline.svn.dav.url import Resource, parse_resource
from trunkline.svn.dav.xml_in import Element, parse
from trunkline.svn.repository.authz import Right
from trunkline.svn.repository.nodes import Node, node_at
from trunkline.svn.repository.session import Rules, Session, Sessions
from trunkline.svn.txn.area import Area


@dataclass(frozen=True, slots=True)
class Served:
    """A repository as it is served. `identity` changes when another takes its place."""

    path: bytes
    identity: object
    sessions: Sessions
    area: Area
    is_v2: bool = True
    bulk: bytes = b"Prefer"
    xml_limit: int = 16 * 1024 * 1024  # bytes of a request's XML
    report_limit: int = 1024 * 1024 * 1024  # bytes of an update's report, which is never held
    commit_limits: Limits = field(default_factory=Limits)
    rules: Rules | None = None
    has_logins: bool = False
    autoversioning: bool = False
    index_stylesheet: bytes = b""  # its URL; empty: folders are HTML
    compression: int = 5  # of svndiff: 0 none, 1 LZ4 where the client takes it, else zlib's


class Exchange:
    """Methods get one and give an `Answer`. A streamed body keeps the session until its end."""

    def __init__(self, served: Served, request: Request) -> None:
        self.served = served
        self.request = request
        self._held = ExitStack()
        self._is_handed_over = False

    @cached_property
    def resource(self) -> Resource:
        return parse_resource(self.request.raw_path)

    @cached_property
    def session(self) -> Session:
        served = self.served
        lent = served.sessions.lend(served.path, served.identity, self.request.user, served.rules)
        return self._held.enter_context(lent)

    @cached_property
    def youngest(self) -> int:
        return self.session.youngest()

    def forget_youngest(self) -> None:
        """After a commit of this request."""
        self.__dict__.pop("youngest", None)

    def xml(self) -> Element | None:
        return parse(self.request.blocks, self.served.xml_limit)

    def node(self, resource: Resource | None = None) -> Node:
        """Of a committed resource."""
        found = resource or self.resource
        revision = self.youngest if found.revision is None else found.revision
        return node_at(self.session, revision, found.path)

    def need(self, path: bytes | None, right: int) -> None:
        """Raises: Bare 403; 401 where somebody who logs in might be allowed."""
        if not self.session.allows(path, right):
            raise Bare(401 if self.request.user is None and self.served.has_logins else 403)

    def need_write(self) -> None:
        """Somewhere, where the resource is no path. Raises: as `need`."""
        if not self.request.may_write:
            raise PeerError("writing isn't allowed here", status=403)
        kind, method, right = self.resource.kind, self.request.method, Right.WRITE
        if method == "MERGE":
            return  # each step was judged
        if method == "DELETE":
            right |= Right.RECURSIVE
        if kind in ("public", "txr", "vtxr", "wrk", "ver") and method not in ("COPY", "MOVE"):
            self.need(self.resource.path, right)
        else:
            self.need(None, Right.WRITE)

    def need_read(self) -> None:
        """Raises: as `need`."""
        resource = self.resource
        self.need(resource.path if resource.is_node else None, Right.READ)

    def stream(self, blocks: Iterator[bytes], close: Callable[[], None] | None = None) -> Stream:
        """A body that needs the session until its end."""
        self._is_handed_over = True
        return Stream(self._held_until_end(blocks, close))

    def push(self, produce: Callable[[Output], None]) -> Stream:
        pushed = Pushed(produce)
        return self.stream(pushed, pushed.close)

    def svndiff_version(self) -> int | None:
        """Of the deltas in the answer; None where the client takes none."""
        accepted = self.request.header(b"accept-encoding")
        return accepted_version(accepted, self.served.compression)

    def stream_xml(self, blocks: Iterator[bytes]) -> Answer:
        return Answer(200, [(b"content-type", XML_TYPE)], self.stream(blocks))

    def push_xml(self, produce: Callable[[Output], None]) -> Answer:
        return Answer(200, [(b"content-type", XML_TYPE)], self.push(produce))

    def _held_until_end(
        self, blocks: Iterator[bytes], close: Callable[[], None] | None
    ) -> Iterator[bytes]:
        with self._held:
            try:
                yield b""  # so that closing it before the first block runs what follows, too
                yield from blocks
            finally:
                if close is not None:
                    close()

    def finish(self) -> None:
        """After the answer was made, or not made."""
        if not self._is_handed_over:
            self._held.close()
