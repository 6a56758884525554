"""Repositories that are open: found again for as long as they and their configuration stay."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from trunkline.config.hgconfig import HgConfig
from trunkline.config.mercurial import check
from trunkline.errors import StoreError
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.stock.configuration import read_config
from trunkline.hg.wire.served import Served
from trunkline.http.roots import Identity, repository_identity


class Handles:
    """At most `limit` of them, least recently used out. Thread-safe."""

    def __init__(self, overrides: Sequence[str], limit: int) -> None:
        self._overrides = tuple(overrides)
        self._limit = limit
        self._open: OrderedDict[str, tuple[Identity, Served]] = OrderedDict()
        self._lock = Lock()

    def get(self, path: str) -> Served:
        """The repository at `path`, as it is configured now.

        Raises: StoreError when it isn't there or can't be read; SettingsError for a value in its
        hgrc that can't be used.
        """
        identity = repository_identity(path)
        if identity is None:
            raise StoreError("no repository", os.path.join(path, ".hg"))
        config = self.config(path)
        with self._lock:
            known = self._open.get(path)
            if known is not None and known[0] == identity and known[1].config is config:
                self._open.move_to_end(path)
                return known[1]
        check(config)
        served = Served.open(path, config, Bridge(path, self._overrides))
        with self._lock:
            self._open[path] = (identity, served)
            self._open.move_to_end(path)
            while len(self._open) > self._limit:
                self._open.popitem(last=False)
        return served

    def config(self, path: str) -> HgConfig:
        """Raises: StoreError."""
        return read_config(path, self._overrides)
