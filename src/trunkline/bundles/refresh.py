"""New bundles of one repository: made one after the other, then listed, then the old ones go.

One process at a time does this for a repository; one that comes meanwhile leaves it to that.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from trunkline.bundles.maker import MAKER, public_heads, write_order
from trunkline.bundles.object_store import ObjectStore
from trunkline.bundles.policy import count_public, wanted_kinds
from trunkline.config.bundles import Bundles
from trunkline.config.hgconfig import HgConfig
from trunkline.errors import TrunklineError
from trunkline.hg.bundle.bundle_file import KINDS, Kind, bundle_spec
from trunkline.hg.node import format_hex
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.shelf import Bundle, Edition, Listing, Shelf, is_sound, repository_id
from trunkline.reply import Order
from trunkline.spool.desk import Desk
from trunkline.spool.order import Outcome, Terms
from trunkline.spool.place import FILE_MODE, Place, open_place
from trunkline.spool.reading import Look, Reading, open_reading
from trunkline.spool.room import Limits, list_entries, make_room, remove

BUILDERS: Final = 1  # at a time, on one machine
QUEUE: Final = 1000
LOOK_SECONDS: Final = 0.1
DISK_SECONDS: Final = 300.0
EDITIONS: Final = 2  # that are kept: clients may just have read the list of before
TRIES: Final = 3  # when a push comes in between, or a builder is killed

Progress = Callable[[Kind, int, int], object]
"""The kind, bytes that are there, bytes that are expected."""


class NotMade(TrunklineError):
    """No bundle came of it; `text` says why, as far as we know."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A repository, and how it is read."""

    root: str
    config: HgConfig
    take_snapshot: Callable[[], Snapshot]


def bundle_terms(settings: Bundles, folder: str) -> Terms:
    limits = Limits(settings.bytes, settings.free_bytes, settings.age_seconds)
    return Terms(folder, MAKER, BUILDERS, QUEUE, limits)


class Refresh:
    """Makes them. Used by one thread at a time, but for `stop`."""

    def __init__(
        self,
        settings: Bundles,
        shelf: Shelf,
        store: ObjectStore | None = None,
        progress: Progress = lambda *_: None,
    ) -> None:
        self._settings = settings
        self._shelf = shelf
        self._store = store
        self._progress = progress
        terms = bundle_terms(settings, shelf.folder)
        self._limits = terms.limits
        self._desk = Desk(terms)
        self.is_stopped = False

    def run(self, subject: Subject) -> Edition | None:
        """None: another process does it, or there is nothing to make. Raises: NotMade, StoreError,
        SettingsError.
        """
        try:
            place = open_place(self._shelf.folder)
            with alone(place, subject.root) as is_alone:
                if not is_alone:
                    return None
                edition = self._make(place, subject)
                if edition is not None:
                    self._list(place, subject, edition)
                return edition
        except OSError as error:
            raise NotMade(f"{self._shelf.folder}: {error.strerror}") from error

    def _make(self, place: Place, subject: Subject) -> Edition | None:
        """Raises: NotMade, StoreError, OSError."""
        failure: NotMade | None = None
        for _ in range(TRIES):
            snapshot = subject.take_snapshot()
            heads = public_heads(snapshot)
            kinds = wanted_kinds(self._settings, snapshot, subject.config)
            bundles: list[Bundle] = []
            try:
                for kind in kinds:
                    order = write_order(
                        subject.root, subject.config, snapshot, kind, self._settings.zstd_level
                    )
                    size = self._build(place, order, kind)
                    spec = bundle_spec(kind, snapshot).decode()
                    bundles.append(self._stored(Bundle(order.name, kind.name, spec, size)))
            except NotMade as error:
                failure = error
                now = subject.take_snapshot()
                is_same = public_heads(now) == heads and (
                    wanted_kinds(self._settings, now, subject.config) == kinds
                )
                if is_same or self.is_stopped:
                    raise
                continue  # a push or commit came in between
            if not bundles:
                return None
            words = [format_hex(node).decode() for node in heads]
            bundles.sort(key=lambda bundle: list(KINDS).index(bundle.kind))
            return Edition(words, count_public(snapshot), bundles, time.time())
        assert failure is not None
        raise failure

    def _build(self, place: Place, order: Order, kind: Kind) -> int:
        """Its size. A builder that was killed is followed by another. Raises: NotMade, OSError."""
        dead = 0
        with ExitStack() as dead_files:  # open until we are done, so that no other gets their inode
            for _ in range(TRIES):
                reading = self._open(place, order, kind, dead)
                dead_files.callback(reading.close)
                look = self._await_end(reading, order, kind)
                if look.is_whole:
                    self._await_disk(place, order)
                    return look.size
                if not look.is_dead:
                    break  # it has told the log why
                dead = reading.inode
        raise NotMade(f"a {kind.name} bundle: it broke off")

    def _open(self, place: Place, order: Order, kind: Kind, dead: int) -> Reading:
        """What is there, else what a builder begins. Raises: NotMade, OSError."""
        found = None if dead else open_reading(place, order.name)
        if found is None:
            if not make_room(place, self._limits, order.size):
                raise NotMade("no room within the limits of [bundles]")
            outcome = self._desk.call(order, dead)
            if outcome not in (Outcome.CLAIMED, Outcome.TAKEN):
                raise NotMade(f"a {kind.name} bundle: {outcome.value}")
            found = open_reading(place, order.name)
        if found is None:
            raise NotMade(f"a {kind.name} bundle: it broke off at once")
        found.count()
        return found

    def _await_end(self, reading: Reading, order: Order, kind: Kind) -> Look:
        """Raises: NotMade, OSError."""
        look = reading.look()
        while not look.is_over:
            if self.is_stopped:
                raise NotMade("the server stops")
            self._progress(kind, look.size, order.size)
            time.sleep(LOOK_SECONDS)
            look = reading.look()
        if look.is_whole:
            self._progress(kind, look.size, look.size)
        return look

    def _await_disk(self, place: Place, order: Order) -> None:
        """The file gets its name when all of it is on the disk, after it was seen whole. Raises:
        NotMade.
        """
        until = time.monotonic() + DISK_SECONDS
        while not os.path.exists(place.whole(order.name)):
            if self.is_stopped or time.monotonic() > until:
                raise NotMade("the disk takes too long")
            time.sleep(LOOK_SECONDS)

    def _stored(self, bundle: Bundle) -> Bundle:
        """With its name in the object store, if there is one and it takes it."""
        if self._store is None:
            return bundle
        return self._store.put(bundle, self._shelf.path(bundle))

    def _list(self, place: Place, subject: Subject, edition: Edition) -> None:
        """Raises: StoreError, OSError."""
        snapshot = subject.take_snapshot()
        before = self._shelf.listing(subject.root).editions
        kept = [old for old in before if old.heads != edition.heads and is_sound(old, snapshot)]
        listing = Listing([edition, *kept][:EDITIONS])
        self._shelf.write(subject.root, listing)
        clean(place, subject.root, listing)
        if self._store is not None:
            gone = keys_of(before) - keys_of(listing.editions)
            self._store.delete(sorted(gone))

    def store_again(self, root: str) -> None:
        """What the object store hasn't taken the last time. Raises: StoreError, OSError."""
        listing = self._shelf.listing(root)
        newest = listing.newest
        if self._store is None or newest is None or all(each.key for each in newest.bundles):
            return
        with alone(open_place(self._shelf.folder), root) as is_alone:
            if is_alone:
                bundles = [each if each.key else self._stored(each) for each in newest.bundles]
                edition = replace(newest, bundles=bundles)
                self._shelf.write(root, Listing([edition, *listing.editions[1:]]))

    def clear(self, root: str) -> Listing:
        """No bundles of this repository any more; what there were. Raises: StoreError, OSError."""
        listing = self._shelf.listing(root)
        self._shelf.write(root, Listing())
        clean(open_place(self._shelf.folder), root, Listing())
        if self._store is not None:
            self._store.delete(sorted(keys_of(listing.editions)))
        return listing

    def stop(self) -> None:
        """From any thread."""
        self.is_stopped = True

    def close(self) -> None:
        self._desk.close()


def clean(place: Place, root: str, listing: Listing) -> None:
    """Files of this repository that aren't listed go, if nobody reads them. Raises: OSError."""
    listed = {bundle.name for edition in listing.editions for bundle in edition.bundles}
    now, mine = place.now(), repository_id(root) + "-"
    for entry in list_entries(place):
        if entry.name.startswith(mine) and entry.name not in listed and entry.is_whole:
            remove(place, entry, now)


def keys_of(editions: list[Edition]) -> set[str]:
    return {bundle.key for edition in editions for bundle in edition.bundles if bundle.key}


@contextmanager
def alone(place: Place, root: str) -> Iterator[bool]:
    """Whether no other process is at it. Where there are no locks, two may do it, which is only a
    waste. Raises: OSError.
    """
    path = f"{place.folder}/{repository_id(root)}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_alone = True
        except BlockingIOError:
            is_alone = False
        except OSError:
            is_alone = True
        yield is_alone
    finally:
        os.close(descriptor)
