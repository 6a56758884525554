"""The bundle2 part `stream2`: the store's files as they are.

Wire:   parameters `bytecount` (of the files), `filecount`, `requirements`. For each file a letter
        for where it belongs (s: store, c: cache), uvarint of the name's and of the file's length,
        name, bytes.
Source: hg 7.2.4, mercurial/streamclone.py (generatev2), bundle2.py (addpartbundlestream2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.bundle2 import Part
from trunkline.hg.bundle.held_files import IN_STORE
from trunkline.hg.bundle.store_files import Group, Listing, Wanted, list_store
from trunkline.hg.bundle.stream import requirements_parameter
from trunkline.hg.bundle.stream_files import confirm, gather, read_files
from trunkline.hg.bundle.uvarint import format_uvarint

if TYPE_CHECKING:
    from trunkline.hg.store.view import View


def stream2_part(view: View, config: HgConfig, include_obsmarkers: bool) -> Part:
    """Files are listed before this returns, and read while the payload is taken.

    The caller has asked `stream_allowed`. Raises: StoreError, both times.
    """
    snapshot = view.snapshot
    listing = list_store(snapshot, wanted_files(config, include_obsmarkers))
    mandatory = (
        (b"bytecount", b"%d" % listing.size),
        (b"filecount", b"%d" % listing.count),
        (b"requirements", requirements_parameter(snapshot.layout.requirements)),
    )
    return Part(b"stream2", mandatory, (), confirm(gather(_pieces(listing)), snapshot))


def wanted_files(config: HgConfig, include_obsmarkers: bool) -> Wanted:
    """Phases travel only where changesets don't become public by being cloned."""
    return Wanted(
        has_phaseroots=not config.bool("phases", "publish", True),
        has_obsstore=include_obsmarkers,
        has_caches=True,
    )


def _pieces(listing: Listing) -> Iterator[bytes]:
    revlogs = listing.revlogs
    yield from read_files(listing, revlogs, map(file_head, revlogs.names, revlogs.sizes))
    for group in listing.groups:
        yield from group_pieces(listing, group)


def group_pieces(listing: Listing, group: Group) -> Iterator[bytes]:
    for held in group.held:
        yield file_head(held.name, held.size, held.source)
        yield from held.blocks()
    files = group.files
    yield from read_files(listing, files, map(file_head, files.names, files.sizes))


def file_head(name: bytes, size: int, source: bytes = IN_STORE) -> bytes:
    return b"%b%b%b%b" % (source, format_uvarint(len(name)), format_uvarint(size), name)
