"""The reply to `stream_out`: the oldest form of a stream clone.

Wire:   "1" LF when streams are forbidden; else "0" LF, files SP bytes LF, then for each file its
        name (directories marked as `fncache` has them) NUL size LF and its bytes.
Source: hg 7.2.4, mercurial/streamclone.py (generatev1, generatev1wireproto).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.store_files import Listing, list_store
from trunkline.hg.bundle.stream import stream_allowed
from trunkline.hg.bundle.stream_files import confirm, gather, read_files
from trunkline.hg.store.paths import mark_directories

if TYPE_CHECKING:
    from trunkline.hg.store.snapshot import Snapshot

ALLOWED: Final = b"0\n"
FORBIDDEN: Final = b"1\n"


def stream_v1(snapshot: Snapshot, config: HgConfig) -> Iterator[bytes]:
    """Files are listed when the first block is taken.

    It has revlogs only: no phases, no markers, no caches. Raises: StoreError, also while blocks
    are taken.
    """
    if not stream_allowed(snapshot, config):
        return iter((FORBIDDEN,))
    return _blocks(snapshot)


def _blocks(snapshot: Snapshot) -> Iterator[bytes]:
    yield from confirm(gather(_pieces(list_store(snapshot))), snapshot)


def _pieces(listing: Listing) -> Iterator[bytes]:
    yield ALLOWED + b"%d %d\n" % (listing.count, listing.size)
    yield from read_files(
        listing, listing.revlogs, map(_head, listing.revlogs.names, listing.revlogs.sizes)
    )
    for group in listing.groups:
        for held in group.held:
            yield _head(held.name, held.size)
            yield from held.blocks()
        yield from read_files(
            listing, group.files, map(_head, group.files.names, group.files.sizes)
        )


def _head(name: bytes, size: int) -> bytes:
    return b"%s\0%d\n" % (mark_directories(name), size)
