"""In a builder's process: one bundle of one repository."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from trunkline import __version__
from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.bundle_file import (
    KINDS,
    VIEW,
    Kind,
    bundle_file,
    estimate_size,
    may_stream,
)
from trunkline.hg.node import Node
from trunkline.hg.store.repository import Repository
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.recipe import digest, store_stamp
from trunkline.hg.wire.shelf import repository_id
from trunkline.reply import Order
from trunkline.spool.builder import NotSame

MAKER = f"{__name__}:make"
NICE = 15  # clients that wait go first


@dataclass(frozen=True, slots=True)
class Job:
    root: str
    config: HgConfig
    kind: str
    level: int | None
    heads: tuple[Node, ...]


def write_order(
    root: str, config: HgConfig, snapshot: Snapshot, kind: Kind, zstd_level: int
) -> Order:
    """Raises: StoreError."""
    level = zstd_level if kind.engine == "zstd" else None
    heads = public_heads(snapshot)
    parts = [__version__.encode(), os.fsencode(root), store_stamp(snapshot), *heads]
    parts += [kind.spec, b"%d" % (level or 0)]
    name = f"{repository_id(root)}-{kind.name}-{digest(parts)}"
    job = Job(root, config, kind.name, level, heads)
    return Order(name, estimate_size(kind, snapshot), pickle.dumps(job))


def public_heads(snapshot: Snapshot) -> tuple[Node, ...]:
    view = snapshot.view(VIEW)
    return tuple(view.nodes(view.graph.heads.tolist()))


def make(order: Order) -> Iterator[bytes]:
    """Raises: NotSame; StoreError, also while blocks are taken."""
    job = pickle.loads(order.job)
    assert isinstance(job, Job)
    with suppress(OSError):
        os.nice(NICE)
    snapshot = Repository(job.root, job.config).snapshot()
    if public_heads(snapshot) != job.heads:
        raise NotSame("the repository has moved on")
    kind = KINDS[job.kind]
    if kind.is_stream and not may_stream(snapshot, job.config):  # it was, when it was ordered
        raise NotSame("not all of it is public any more")
    return bundle_file(snapshot, job.config, kind, job.level)
