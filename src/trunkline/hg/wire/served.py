"""One repository as the protocol sees it: read by us, or through the installed Mercurial."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, TypeVar

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import NotNative
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.stock.reasons import why_bridge
from trunkline.hg.store.repository import Repository
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.kept import Answers
from trunkline.hg.wire.negotiate import Engines, configured_engines
from trunkline.hg.wire.shelf import Shelf

log = logging.getLogger(__name__)

MANIFEST = "clonebundles.manifest"  # in .hg

Value = TypeVar("Value")


class Served:
    """Holds what is worth keeping between requests. Thread-safe; one for each repository and
    configuration, so it is thrown away when the configuration changes.
    """

    def __init__(
        self,
        root: str,
        config: HgConfig,
        bridge: Bridge,
        repository: Repository | None,
        reason: str | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        self.root = root
        self.config = config
        self.bridge = bridge
        self.repository = repository
        self.reason = reason  # why it goes through the bridge; None: it doesn't
        self.shelf = shelf  # None: we make no clone bundles
        self._engines: Engines | None = None
        self.answers: Answers[Any] = Answers()
        self._kept: dict[str, tuple[object, Any]] = {}

    @classmethod
    def open(
        cls, root: str, config: HgConfig, bridge: Bridge, shelf: Shelf | None = None
    ) -> Served:
        """Decide who reads it. Raises: StoreError where there is no repository."""
        try:
            repository = Repository(root, config)
        except NotNative as refusal:
            return cls(root, config, bridge, None, refusal.text)
        reason = why_bridge(repository.requirements, config)
        return cls(root, config, bridge, None if reason else repository, reason, shelf)

    @property
    def engines(self) -> Engines:
        """Raises: SettingsError."""
        if self._engines is None:
            self._engines = configured_engines(self.config)
        return self._engines

    @property
    def has_manifest(self) -> bool:
        """The operator's own list of clone bundles."""
        return os.path.exists(f"{self.root}/.hg/{MANIFEST}")

    @property
    def has_own_bundles(self) -> bool:
        return self.shelf is not None and self.shelf.has_list(self.root)

    def snapshot(self) -> Snapshot | None:
        """None when the bridge serves it, now at least: a repository may be upgraded under us."""
        if self.repository is None:
            return None
        try:
            return self.repository.snapshot()
        except NotNative as refusal:
            log.warning("%s goes through the installed Mercurial: %s", self.root, refusal.text)
            return None

    def keep(self, name: str, owner: object, make: Callable[[], Value]) -> Value:
        """What `make` gave for `owner`; the last owner's value is kept under each name.

        Two threads may both make it: they come to the same.
        """
        kept = self._kept.get(name)
        if kept is None or kept[0] is not owner:
            kept = self._kept[name] = (owner, make())
        value: Value = kept[1]
        return value
