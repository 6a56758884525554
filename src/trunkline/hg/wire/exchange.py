"""One request being answered: the repository in one state, and who asks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.stock.caller import Caller
from trunkline.hg.stock.session import Session
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.store.view import View
from trunkline.hg.wire.arguments import Pairs, numbered_header, sent_arguments
from trunkline.hg.wire.proto import ClientProtocol, client_protocol
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.state import State

log = logging.getLogger(__name__)

HIDDEN_VIEWS = {"served": "served.hidden"}  # views that may be opened to `access-hidden=1`


class Exchange:
    """Every command of a batch sees the same snapshot, until one of them writes: it is taken once,
    when first asked for.
    """

    def __init__(
        self, served: Served, request: Request, query: Pairs, state: State | None = None
    ) -> None:
        self.served = served
        self.request = request
        self.query = query
        self.may_keep = True  # until something runs whose reply depends on more than the state
        if state is not None:
            self.state = state
        self._session: Session | None = None

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """While in it, all that is asked through the bridge sees the same state, too."""
        with self.served.bridge.session(self.caller, self.request.work) as self._session:
            try:
                yield
            finally:
                self._session = None

    def ask_bridge(self, command: bytes, arguments: dict[bytes, bytes]) -> bytes:
        """Raises: PeerError, StoreError."""
        if self._session is not None:
            return self._session.call(command, arguments)
        return self.served.bridge.call(command, arguments, self.caller, self.request.work)

    def look_again(self) -> None:
        """After something was written: what follows sees it."""
        for name in ("state", "view"):
            self.__dict__.pop(name, None)

    @property
    def config(self) -> HgConfig:
        return self.served.config

    @cached_property
    def sent(self) -> Mapping[bytes, bytes]:
        """All arguments by name. Raises: PeerError."""
        return sent_arguments(self.request, self.query)

    @cached_property
    def client(self) -> ClientProtocol:
        return client_protocol(self.request.headers)

    @cached_property
    def state(self) -> State:
        return State(self.served)

    @property
    def native(self) -> Snapshot | None:
        """None: the bridge serves this repository."""
        return self.state.snapshot

    @property
    def snapshot(self) -> Snapshot:
        """For commands that only run on a repository that we read."""
        snapshot = self.native
        assert snapshot is not None
        return snapshot

    @cached_property
    def view(self) -> View:
        return self.snapshot.view(self.view_name)

    @property
    def view_name(self) -> str:
        name = self.config.text("server", "view", "served")
        if self.asks_for_hidden and name in HIDDEN_VIEWS:
            if may_see_hidden(self.config, self.request.user):
                return HIDDEN_VIEWS[name]
            log.debug(  # anybody can have it written as often as he likes
                "ignoring request to access hidden changeset by unauthorized user: %r",
                self.request.user,
            )
        return name

    @property
    def asks_for_hidden(self) -> bool:
        return any(name == b"access-hidden" and value for name, value in self.query)

    @cached_property
    def caller(self) -> Caller:
        request = self.request
        proto = numbered_header(request.headers, b"x-hgproto")
        return Caller(request.user, request.address, request.scheme, proto, request.method)


def may_see_hidden(config: HgConfig, user: str | None) -> bool:
    """Source: hg 7.2.4, hgweb/common.py (hashiddenaccess) and scmutil.py (ismember)."""
    allowed = config.list("experimental", "server.allow-hidden-access")
    return allowed == ("*",) or (user is not None and user in allowed)
