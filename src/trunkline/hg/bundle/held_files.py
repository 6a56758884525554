"""Files of a stream that are replaced or removed while it runs: held when the files are listed.

Small ones are read into memory, of large ones the open file is kept: it stays what it was when
another takes its name.

Source: hg 7.2.4, mercurial/streamclone.py (VolatileManager), cacheutil.py (cachetocopy),
helptext/internals/ for nodemaps: revlogutils/nodemap.py (NodeMapDocket).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final

from trunkline.errors import StoreError
from trunkline.hg.bundle.store_folder import READ, StoreFolder
from trunkline.hg.node import format_hex
from trunkline.hg.store.index import ENTRY_LENGTH, NODE_AT

if TYPE_CHECKING:
    from trunkline.hg.store.snapshot import Snapshot

IN_STORE: Final = b"s"
IN_CACHE: Final = b"c"

IN_MEMORY: Final = 64 << 10  # bytes of a file that is read at once
BLOCK: Final = 512 << 10  # bytes of one read of a larger one

VIEWS: Final = (b"base", b"immutable", b"served", b"visible")
CACHES: Final = (
    b"branch2",
    *(b"branch2-" + view for view in VIEWS),
    b"branch3",
    *(b"branch3-" + view for view in VIEWS),
    b"rbc-names-v2",
    b"rbc-revs-v2",
    b"tags2",
    *(b"tags2-" + view for view in VIEWS),
    b"hgtagsfnodes1",
)

# Version, length of the id, last revision, length of the data, of it unused, length of a node;
# the id and that revision's node follow.
DOCKET: Final = Struct(">BBQQQQ")
DOCKET_VERSION: Final = 1
ID: Final = re.compile(rb"[0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Held:
    """`source` is the wire's letter for the folder that the client puts it into."""

    source: bytes
    name: bytes
    size: int
    content: bytes | FileIO

    def blocks(self) -> Iterator[bytes]:
        """`size` bytes. Raises: StoreError when the file has become shorter."""
        if isinstance(self.content, bytes):
            yield self.content
            return
        at = 0
        while at < self.size:
            data = os.pread(self.content.fileno(), min(BLOCK, self.size - at), at)
            if not data:
                raise StoreError("became shorter", os.fsdecode(self.name), at)
            at += len(data)
            yield data


def hold(source: bytes, name: bytes, descriptor: int, limit: int | None = None) -> Held:
    """Takes `descriptor` over. `limit`: bytes that belong to the snapshot."""
    file = FileIO(descriptor)
    size = os.fstat(descriptor).st_size
    if limit is not None:
        size = min(size, limit)
    if size > IN_MEMORY:
        return Held(source, name, size, file)
    with file:
        data = file.read(size) or b""
    return Held(source, name, len(data), data)


def cache_files(cache_path: str) -> list[Held]:
    """Caches that spare the client work; each says itself what it is valid for."""
    held = []
    for name in CACHES:
        try:
            descriptor = os.open(os.path.join(os.fsencode(cache_path), name), READ)
        except OSError:
            continue
        held.append(hold(IN_CACHE, name, descriptor))
    return held


def phaseroots_file(folder: StoreFolder, snapshot: Snapshot) -> Held | None:
    """The snapshot's phases, written as the file is: it may have moved on since.

    Wire: a line for each root: the phase's number, a space, 40 hex digits.
    """
    if folder.stat(b"phaseroots") is None:
        return None
    node = snapshot.changelog.node
    data = b"".join(
        b"%d %s\n" % (phase, format_hex(node(rev)))
        for phase, revs in sorted(snapshot.phases.roots.items())
        for rev in sorted(revs)
    )
    return Held(IN_STORE, b"phaseroots", len(data), data)


def obsstore_file(snapshot: Snapshot) -> Held | None:
    data = snapshot.obsmarkers.data
    return Held(IN_STORE, b"obsstore", len(data), data) if data else None


def nodemap_files(folder: StoreFolder, revlog: bytes, revisions: int) -> tuple[Held, ...]:
    """The persistent nodemap of a revlog (named without extension), or nothing.

    The docket names one data file, of which it knows the length; others are leftovers. It is left
    out when it knows more than the first `revisions`, or another history: a client without one
    makes its own.
    """
    name = revlog + b".n"
    docket = folder.read(name)
    if not docket:
        return ()
    try:
        version, id_length, last, length, _unused, node_length = DOCKET.unpack_from(docket)
    except StructError:
        return ()
    identity = docket[DOCKET.size : DOCKET.size + id_length]
    node = docket[DOCKET.size + id_length :][:node_length]
    if version != DOCKET_VERSION or last >= revisions or not ID.fullmatch(identity):
        return ()
    if node_at(folder, revlog + b".i", last) != node:
        return ()
    data_name = b"%s-%s.nd" % (revlog, identity)
    try:
        data = hold(IN_STORE, data_name, folder.open(data_name), length)
    except OSError:
        return ()
    if data.size != length:
        return ()
    return Held(IN_STORE, name, len(docket), docket), data


def node_at(folder: StoreFolder, index: bytes, revision: int) -> bytes:
    """A revision's node, read from an index that isn't inline (only those have nodemaps)."""
    try:
        with FileIO(folder.open(index)) as file:
            return os.pread(file.fileno(), 20, revision * ENTRY_LENGTH + NODE_AT)
    except OSError:
        return b""
