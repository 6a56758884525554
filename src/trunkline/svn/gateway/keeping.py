"""Reads that pass: what of them is kept, and what they tell."""

from __future__ import annotations

import asyncio

from trunkline.svn.gateway.cache import ENTRY_BYTES, Cache
from trunkline.svn.gateway.exchange import Exchange
from trunkline.svn.gateway.message import Head, Request
from trunkline.svn.gateway.upstream import Repository, Upstream

OK = 200
GOOD = (OK, 207)
REFUSED = (401, 403)


class Keeping(Exchange):
    """Its answer is kept under `name`, unless that is empty. Holds: `ENTRY_BYTES`."""

    def __init__(
        self, request: Request, upstream: Upstream, repository: Repository, cache: Cache, name: str
    ) -> None:
        super().__init__(request)
        self._upstream = upstream
        self._repository = repository
        self._cache = cache
        self._name = name
        self._copy: bytearray | None = bytearray() if name else None

    def feed_head(self, head: Head) -> None:
        credentials = self.request.header(b"authorization") or b""
        if head.status in GOOD:
            self._upstream.accept_reads(self._repository, credentials)
        elif head.status in REFUSED:
            self._upstream.refuse(self._repository, credentials)
        if head.status != OK:
            self._copy = None
        super().feed_head(head)

    def feed_data(self, data: bytes) -> None:
        if self._copy is not None:
            self._copy += data
            if len(self._copy) > ENTRY_BYTES:
                self._copy = None
        super().feed_data(data)

    def finish(self) -> None:
        super().finish()
        copy, self._copy = self._copy, None
        if copy is not None and self.lost is None and self.head is not None:
            is_full = self._cache.keep(self._name, self.head, bytes(copy))
            if is_full:
                asyncio.get_running_loop().run_in_executor(None, self._cache.sweep)


def read(
    request: Request, upstream: Upstream, repository: Repository, cache: Cache
) -> bytes | Keeping:
    """The whole answer, or one that is to be sent. Kept ones are for credentials that the upstream
    has taken a moment ago.
    """
    name = cache.name(request, repository)
    credentials = request.header(b"authorization") or b""
    if name and upstream.accepts_reads(repository, credentials):
        found = cache.read(name)
        if found is not None:
            return found
    return Keeping(request, upstream, repository, cache, name)
