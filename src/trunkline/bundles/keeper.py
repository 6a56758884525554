"""Watches the repositories that are asked for, and has their bundles made in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from typing import Final, TypeVar
from weakref import ReferenceType, ref

from trunkline.bundles.object_store import ObjectStore
from trunkline.bundles.policy import is_due, is_large_enough, wanted_kinds
from trunkline.bundles.refresh import Refresh, Subject
from trunkline.config.bundles import Bundles
from trunkline.errors import StoreError, TrunklineError
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.shelf import Shelf

log = logging.getLogger(__name__)

Value = TypeVar("Value")

FAILED_SECONDS: Final = 600.0  # after a failure, before the same repository is tried again
# A repository that stays as it is, is looked at again after this: a bundle of it may be gone.
AGAIN_SECONDS: Final = 300.0
KEPT_LIMIT: Final = 10_000  # repositories that are remembered
CLOSE_SECONDS: Final = 2.0


class Keeper:
    """One for each worker; its thread begins with the first repository. Thread-safe."""

    def __init__(self, settings: Bundles, shelf: Shelf, store: ObjectStore | None = None) -> None:
        self._settings = settings
        self._shelf = shelf
        self._refresh = Refresh(settings, shelf, store)
        self._changed = threading.Condition()
        self._waiting: OrderedDict[str, tuple[float, Served]] = OrderedDict()  # from when on
        self._seen: OrderedDict[str, ReferenceType[Snapshot]] = OrderedDict()
        self._looked: OrderedDict[str, float] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._told = ""

    def notice(self, served: Served, snapshot: Snapshot | None) -> None:
        """A request for it was answered from this state. Costs next to nothing."""
        root = served.root
        if snapshot is None or self._is_closed:
            return
        seen = self._seen.get(root)
        if seen is not None and seen() is snapshot:
            looked = self._looked.get(root)
            if looked is None or time.monotonic() - looked < AGAIN_SECONDS:
                return
        with self._changed:
            remember(self._seen, root, ref(snapshot))
            if root not in self._waiting:
                looked = self._looked.get(root)
                wait = 0.0 if looked is None else looked + self._settings.check_seconds
                self._waiting[root] = wait, served
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bundles", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                served = self._next()
                while served is None:
                    if self._is_closed:
                        return
                    self._changed.wait(self._patience())
                    served = self._next()
                remember(self._looked, served.root, time.monotonic())
            if not self._look(served):
                later = time.monotonic() + FAILED_SECONDS - self._settings.check_seconds
                remember(self._looked, served.root, later)

    def _next(self) -> Served | None:
        now = time.monotonic()
        for root, (begin, served) in self._waiting.items():
            if begin <= now:
                del self._waiting[root]
                return served
        return None

    def _patience(self) -> float | None:
        begins = [begin for begin, _ in self._waiting.values()]
        return max(min(begins) - time.monotonic(), 0.01) if begins else None

    def _look(self, served: Served) -> bool:
        """False: it went wrong, and will again."""
        try:
            self._make(served)
        except StoreError as error:  # whoever asks for the repository has it told
            log.debug("%s: no new clone bundles: %s", served.root, error.text)
            return False
        except TrunklineError as error:
            if self._is_closed:
                return True
            if (
                error.text != self._told
            ):  # a folder that can't be used is no news of each repository
                self._told = error.text
                log.warning("%s: no new clone bundles: %s", served.root, error.text)
            return False
        except Exception as error:
            log.error("%s: clone bundles: %s", served.root, error, exc_info=error)
            return False
        return True

    def _make(self, served: Served) -> None:
        """If it is time. Raises: NotMade, StoreError, SettingsError."""
        snapshot = served.snapshot()
        if snapshot is None or served.has_manifest:
            return
        if not is_large_enough(self._settings, snapshot):
            return
        kinds = wanted_kinds(self._settings, snapshot, served.config)
        edition = self._shelf.listing(served.root).newest
        if not is_due(self._settings, self._shelf, edition, snapshot, kinds):
            self._refresh.store_again(served.root)
            return

        def take() -> Snapshot:
            found = served.snapshot()
            if found is None:
                raise StoreError("it isn't read natively any more", served.root)
            return found

        self._refresh.run(Subject(served.root, served.config, take))

    def close(self) -> None:
        """A build that runs stops soon, as nobody waits for it."""
        self._is_closed = True
        self._refresh.stop()
        with self._changed:
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
        self._refresh.close()


def remember(kept: OrderedDict[str, Value], root: str, value: Value) -> None:
    kept[root] = value
    kept.move_to_end(root)
    if len(kept) > KEPT_LIMIT:
        kept.popitem(last=False)
