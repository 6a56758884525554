"""A whole bundle as a file that `hg unbundle` takes: what a clone bundle is.

Only public changesets are in it: the others may be hidden, changed or kept back tomorrow, and a
bundle that clients have can't be called back.
Wire:   "HG20", int32 length of the stream parameters, `Compression=<two letters>`; what follows is
        packed as one stream. Without that parameter it isn't packed.
Source: hg 7.2.4, bundle2.py (bundle20.getchunks, _addpartsfromopts), bundlecaches.py
        (_bundlespeccontentopts) and exchange.py (getbundlespec).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trunkline.compression.table import installed
from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle import parts
from trunkline.hg.bundle.bundle2 import END, INT32, MAGIC, Part, format_stream_parameters
from trunkline.hg.bundle.bundle2 import write_bundle as write_container
from trunkline.hg.bundle.changegroup import changegroup
from trunkline.hg.bundle.estimate import changegroup_size, store_size
from trunkline.hg.bundle.outgoing import Outgoing
from trunkline.hg.bundle.stream import (
    keeps_back,
    offers_stream_parts,
    requirements_parameter,
    stream_allowed,
)
from trunkline.hg.bundle.stream_v2 import stream2_part
from trunkline.hg.store.snapshot import Snapshot

VIEW: Final = "immutable"
VERSION: Final = b"02"  # of the changegroup that the specification "v2" stands for
HEAD_LENGTH: Final = len(MAGIC) + len(END)


@dataclass(frozen=True, slots=True)
class Kind:
    """`engine` packs it; `letters` name the engine in the bundle, "" where it isn't packed."""

    name: str
    engine: str
    letters: bytes
    spec: bytes
    is_stream: bool = False


# In the order in which a client should choose: the first one that it can read is taken.
KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("zstd", "zstd", b"ZS", b"zstd-v2"),
        Kind("gzip", "zlib", b"GZ", b"gzip-v2"),
        Kind("stream", "none", b"", b"none-v2;stream=v2", is_stream=True),
    )
}


def bundle_spec(kind: Kind, snapshot: Snapshot) -> bytes:
    """As `hg debugbundle --spec` prints it, quoted for a manifest."""
    if not kind.is_stream:
        return kind.spec
    needed = requirements_parameter(snapshot.layout.requirements)
    return b"%s;requirements%%3D%s" % (kind.spec, needed)


def may_stream(snapshot: Snapshot, config: HgConfig) -> bool:
    """A stream holds all that the store has: nothing of it may be anything but public.

    Raises: SettingsError, StoreError.
    """
    return (
        not snapshot.phases.mutable
        and not keeps_back(snapshot, config)
        and offers_stream_parts(config)
        and stream_allowed(snapshot, config)
    )


def estimate_size(kind: Kind, snapshot: Snapshot) -> int:
    if kind.is_stream:
        return store_size(snapshot)
    return changegroup_size(snapshot, whole(snapshot))


def bundle_file(
    snapshot: Snapshot, config: HgConfig, kind: Kind, level: int | None
) -> Iterator[bytes]:
    """Raises: StoreError, also while blocks are taken."""
    if kind.is_stream:
        return write_container([stream2_part(snapshot.view(VIEW), config, False)])
    blocks = write_container(changegroup_parts(snapshot))
    return packed(blocks, kind, level)


def changegroup_parts(snapshot: Snapshot) -> Iterator[Part]:
    """What the specification "v2" has."""
    view, outgoing = snapshot.view(VIEW), whole(snapshot)
    yield Part(
        b"changegroup",
        ((b"version", VERSION),),
        ((b"nbchanges", b"%d" % len(outgoing.sent)),),
        changegroup(view, outgoing, VERSION),
    )
    tags = parts.hgtagsfnodes_part(view, view.heads)
    if tags is not None:
        yield tags
    yield parts.branches_part(view, outgoing)


def whole(snapshot: Snapshot) -> Outgoing:
    graph = snapshot.view(VIEW).graph
    return Outgoing(graph.all, graph.heads.tolist(), [])


def packed(blocks: Iterator[bytes], kind: Kind, level: int | None) -> Iterator[bytes]:
    """The container's own head is replaced by one that names the engine."""
    parameters = format_stream_parameters({b"Compression": kind.letters})
    head = MAGIC + INT32.pack(len(parameters)) + parameters
    for block in installed()[kind.engine].compress(without_head(blocks), level):
        yield head + block
        head = b""


def without_head(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The first block holds all of it: the head of the first part is in it as well."""
    yield next(blocks)[HEAD_LENGTH:]
    yield from blocks
