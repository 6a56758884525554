"""The bundle2 part `stream3-exp`: files grouped so that a reader may write them side by side.

Wire:   parameter `requirements`. Uvarint of the number of groups; for each the uvarint of the
        number of its files, and those as in `stream2`.
Source: hg 7.2.4, mercurial/streamclone.py (generatev3). Mercurial calls it experimental.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.bundle2 import Part
from trunkline.hg.bundle.store_files import Listing, list_store
from trunkline.hg.bundle.store_folder import DATA, INDEX, INLINE
from trunkline.hg.bundle.stream import requirements_parameter
from trunkline.hg.bundle.stream_files import confirm, gather, read_files
from trunkline.hg.bundle.stream_v2 import file_head, group_pieces, wanted_files
from trunkline.hg.bundle.uvarint import format_uvarint

if TYPE_CHECKING:
    from trunkline.hg.store.view import View

# How many files a revlog has, in front of its first one.
LEADS: Final = {DATA: format_uvarint(2), INDEX: b"", INLINE: format_uvarint(1)}


def stream3_part(view: View, config: HgConfig, include_obsmarkers: bool) -> Part:
    """As `stream2_part`. Raises: StoreError, also while the payload is taken."""
    snapshot = view.snapshot
    listing = list_store(snapshot, wanted_files(config, include_obsmarkers))
    mandatory = ((b"requirements", requirements_parameter(snapshot.layout.requirements)),)
    return Part(b"stream3-exp", mandatory, (), confirm(gather(_pieces(listing)), snapshot))


def _pieces(listing: Listing) -> Iterator[bytes]:
    revlogs = listing.revlogs
    count = len(revlogs.names) - revlogs.kinds.count(INDEX) + len(listing.groups)
    yield format_uvarint(count)
    yield from read_files(
        listing, revlogs, map(_revlog_head, revlogs.names, revlogs.sizes, revlogs.kinds)
    )
    for group in listing.groups:
        yield format_uvarint(group.count)
        yield from group_pieces(listing, group)


def _revlog_head(name: bytes, size: int, kind: int) -> bytes:
    return LEADS[kind] + file_head(name, size)
