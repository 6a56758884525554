"""The clone bundles that we have made: which there are of a repository, and where.

Holds:  in one folder, for all repositories, REPOSITORY.list, and the files that it names,
        NAME.whole. REPOSITORY is a digest of the repository's path, and each NAME begins with it.
Wire:   REPOSITORY.list is JSON: the editions, the newest first.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec import Struct

from trunkline.errors import StoreError
from trunkline.hg.bundle.bundle_file import KINDS, VIEW
from trunkline.hg.node import parse_hex
from trunkline.hg.store.snapshot import Snapshot

log = logging.getLogger(__name__)

LIST_LIMIT: Final = 64 * 1024 * 1024  # bytes; a head takes 43
ID_LENGTH: Final = 16  # digits of a repository's digest
KEPT_LIMIT: Final = 1000  # listings
READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class Bundle(Struct, frozen=True):
    """`size` in bytes; `key` is its name in the object store, "" for none; `sha256` in hex."""

    name: str
    kind: str
    spec: str
    size: int
    key: str = ""
    sha256: str = ""


class Edition(Struct, frozen=True):
    """Bundles of one state: `heads` of all that was public, in hex, and how much that was."""

    heads: list[str]
    changesets: int
    bundles: list[Bundle]
    made: float = 0.0  # seconds since the epoch, for people


class Listing(Struct, frozen=True):
    editions: list[Edition] = []

    @property
    def newest(self) -> Edition | None:
        return self.editions[0] if self.editions else None


class Shelf:
    """Thread-safe. `address` gives the URL in the object store, or None when it isn't there."""

    def __init__(self, folder: str, address: Callable[[Bundle], str | None] | None = None) -> None:
        self.folder = folder
        self._address = address
        self._kept: dict[str, tuple[tuple[int, ...], Listing]] = {}
        self._told = "", ""

    def list_path(self, root: str) -> str:
        return f"{self.folder}/{repository_id(root)}.list"

    def has_list(self, root: str) -> bool:
        return os.path.exists(self.list_path(root))

    def listing(self, root: str) -> Listing:
        """Empty when there is none, or none that can be used, which the log tells once: clones
        go on without, and the next ones that are made take its place.
        """
        path = self.list_path(root)
        seen: tuple[int, ...] = ()
        try:
            with open(os.open(path, READ), "rb") as file:
                found = os.fstat(file.fileno())
                seen = found.st_ino, found.st_size, found.st_mtime_ns
                kept = self._kept.get(root)
                if kept is not None and kept[0] == seen:
                    return kept[1]
                if not is_ours(found):
                    raise StoreError("belongs to another account", path)
                listing = parse_listing(file.read(LIST_LIMIT), path)
        except FileNotFoundError:
            return Listing()
        except OSError as error:
            self._tell(path, error.strerror or str(error))
            return Listing()
        except StoreError as error:
            self._tell(path, error.text)
            listing = Listing()
        if len(self._kept) >= KEPT_LIMIT:
            self._kept = {}
        self._kept[root] = seen, listing
        return listing

    def _tell(self, path: str, text: str) -> None:
        if self._told != (path, text):
            self._told = path, text
            log.warning("%s: %s; clones go on without bundles", path, text)

    def write(self, root: str, listing: Listing) -> None:
        """At once for those who read. Raises: OSError."""
        path = self.list_path(root)
        if not listing.editions:
            with suppress(FileNotFoundError):
                os.unlink(path)
            return
        descriptor, unfinished = tempfile.mkstemp(".new", "list-", self.folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(msgspec.json.encode(listing))
            os.replace(unfinished, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished)
            raise

    def path(self, bundle: Bundle) -> str:
        return f"{self.folder}/{bundle.name}.whole"

    def is_readable(self, bundle: Bundle) -> bool:
        """Here, and as long as it was."""
        try:
            descriptor = os.open(self.path(bundle), READ)
        except OSError:
            return False
        try:
            found = os.fstat(descriptor)
            return found.st_size == bundle.size and is_ours(found)
        finally:
            os.close(descriptor)

    def address(self, bundle: Bundle) -> str | None:
        """Of its copy in the object store, if that can be read now."""
        return self._address(bundle) if self._address is not None and bundle.key else None

    def find(self, root: str, snapshot: Snapshot, name: str) -> Bundle | None:
        """One that may be given out now."""
        for edition in self.sound(root, snapshot):
            for bundle in edition.bundles:
                if bundle.name == name and self.is_readable(bundle):
                    return bundle
        return None

    def sound(self, root: str, snapshot: Snapshot) -> Iterator[Edition]:
        """Editions that hold nothing but what is public now, the newest first."""
        listing = self.listing(root)
        return (edition for edition in listing.editions if is_sound(edition, snapshot))


def is_ours(found: os.stat_result) -> bool:
    """The folder may be one below `/tmp` that another account was the first to make."""
    return found.st_uid == os.geteuid()


def is_sound(edition: Edition, snapshot: Snapshot) -> bool:
    """Is all of it still here, and public? What is below a public head, is."""
    view = snapshot.view(VIEW)
    return all(view.known([parse_hex(head.encode()) for head in edition.heads]))


def repository_id(root: str) -> str:
    return blake2b(os.fsencode(root), digest_size=ID_LENGTH // 2).hexdigest()


def parse_listing(data: bytes, path: str) -> Listing:
    """Raises: StoreError."""
    try:
        listing = msgspec.json.decode(data, type=Listing)
        for edition in listing.editions:
            for head in edition.heads:
                parse_hex(head.encode())
    except Exception as error:
        raise StoreError("no list of bundles", path) from error
    known = [
        msgspec.structs.replace(
            edition, bundles=[each for each in edition.bundles if each.kind in KINDS]
        )
        for edition in listing.editions
    ]
    return Listing(known)
