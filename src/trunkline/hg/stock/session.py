"""Several calls to one process, which all see the state that the first one saw."""

from __future__ import annotations

from types import TracebackType

from trunkline.hg.stock.caller import Caller
from trunkline.hg.stock.pool import Place, Pool
from trunkline.hg.stock.stdio import StdioServer
from trunkline.work import Work


class Session:
    """Of one thread. Holds a process from the first call on, until it is closed."""

    def __init__(self, pool: Pool, place: Place, caller: Caller, work: Work | None = None) -> None:
        self._pool = pool
        self._place = place
        self._caller = caller
        self._work = work
        self._server: StdioServer | None = None

    def call(self, command: bytes, arguments: dict[bytes, bytes]) -> bytes:
        """The answer, as HTTP would send it. A failure gives the process back.

        Raises: PeerError for what Mercurial refuses, StoreError for what fails; ClientGone, never
        of what writes.
        """
        if self._server is None:
            self._server = self._pool.lease(self._place, self._caller, self._work)
        try:
            answer = self._server.call(command, arguments)
            words = self._server.process.take_words()
        except BaseException:
            self.close()
            raise
        if command == b"pushkey":  # what hooks print is for the user
            return answer + words
        return answer

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            self._pool.settle(self._place, server)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
