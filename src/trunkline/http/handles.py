"""Repositories that are open: found again for as long as they and their configuration stay."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from trunkline.config.hgconfig import HgConfig
from trunkline.config.mercurial import check
from trunkline.errors import StoreError
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.stock.configuration import kept_config, read_config
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.shelf import Shelf
from trunkline.http.roots import Identity, repository_identity


@dataclass(frozen=True, slots=True)
class Handle:
    """`weight` is the size of the indexes that a snapshot holds. Units: bytes."""

    identity: Identity
    served: Served
    weight: int


class Handles:
    """At most `limit` of them and `limit_bytes` of their indexes, least recently used out.

    Thread-safe.
    """

    def __init__(
        self, overrides: Sequence[str], limit: int, limit_bytes: int, shelf: Shelf | None = None
    ) -> None:
        self._overrides = tuple(overrides)
        self._shelf = shelf
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._open: OrderedDict[str, Handle] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, path: str, identity: Identity | None = None) -> Served:
        """The repository at `path`, as it is configured now. `identity`: what was just seen there.

        Raises: StoreError when it isn't there or can't be read; SettingsError for a value in its
        hgrc that can't be used.
        """
        identity = identity or repository_identity(path)
        if identity is None:
            raise StoreError("no repository", os.path.join(path, ".hg"))
        config = self.config(path)
        with self._lock:
            known = self._open.get(path)
            if known is not None and known.identity == identity and known.served.config is config:
                self._open.move_to_end(path)
                return known.served
        check(config)
        served = Served.open(path, config, Bridge(path, self._overrides), self._shelf)
        self._keep(path, Handle(identity, served, index_bytes(served)))
        return served

    def kept(self, path: str, identity: Identity) -> Served | None:
        """The same, if it is open and some stats are enough to say so. Waits for nobody."""
        with self._lock:
            known = self._open.get(path)
        if known is None or known.identity != identity:
            return None
        served = known.served
        return served if kept_config(path, self._overrides) is served.config else None

    def _keep(self, path: str, handle: Handle) -> None:
        with self._lock:
            old = self._open.pop(path, None)
            self._weight += handle.weight - (old.weight if old else 0)
            self._open[path] = handle
            while len(self._open) > 1 and (
                len(self._open) > self._limit or self._weight > self._limit_bytes
            ):
                _, gone = self._open.popitem(last=False)
                self._weight -= gone.weight

    def config(self, path: str) -> HgConfig:
        """Raises: StoreError."""
        return read_config(path, self._overrides)


def index_bytes(served: Served) -> int:
    """0 for one that the bridge serves: it holds nothing here."""
    if served.repository is None:
        return 0
    size = 0
    for name in ("00changelog.i", "00manifest.i"):
        with suppress(OSError):
            size += os.stat(os.path.join(served.repository.store_path, name)).st_size
    return size
