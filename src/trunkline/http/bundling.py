"""The clone bundles of this server: where they lie, and who makes them."""

from __future__ import annotations

import logging

from trunkline.bundles.keeper import Keeper
from trunkline.bundles.object_store import open_store
from trunkline.bundles.place import bundles_folder
from trunkline.config.settings import Settings
from trunkline.errors import SettingsError
from trunkline.hg.wire.shelf import Shelf
from trunkline.hg.wire.state import State

log = logging.getLogger(__name__)


class Bundling:
    """One for each worker. Without a shelf where `[bundles] make` is off."""

    def __init__(self, settings: Settings) -> None:
        self.shelf: Shelf | None = None
        self._keeper: Keeper | None = None
        if settings.bundles.make == "off":
            return
        try:
            store = open_store(settings.bundle_store)
        except SettingsError as error:  # told at the start, too; clients still get ours
            log.error("%s", error.text)
            store = None
        address = None if store is None else store.address
        self.shelf = Shelf(bundles_folder(settings), address)
        self._keeper = Keeper(settings.bundles, self.shelf, store)

    @property
    def folder(self) -> str:
        """ "" for none."""
        return "" if self.shelf is None else self.shelf.folder

    def notice(self, state: State) -> None:
        """It was asked for: are new bundles due?"""
        if self._keeper is not None:
            self._keeper.notice(state.served, state.snapshot)

    def close(self) -> None:
        if self._keeper is not None:
            self._keeper.close()
