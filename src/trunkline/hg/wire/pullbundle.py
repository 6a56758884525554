"""A ready-made bundle in place of a computed one, where it fits what a pull asks for: one that the
operator has listed, or for who has nothing yet a clone bundle that we have made.

The client then asks again for what is still missing, so it must have said `partial-pull`.
Wire:   `.hg/pullbundles.manifest` is like a clone bundle manifest, the URL being a file below
        `.hg`; `heads=` and `bases=` are hex nodes parted by ";".
Source: hg 7.2.4, wireprotov1server.py (find_pullbundle).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import BinaryIO

from trunkline.compression.table import installed
from trunkline.errors import PeerError, StoreError
from trunkline.hg.bundle.bundle_file import KINDS
from trunkline.hg.node import NULL_REV, parse_hex, parse_nodes
from trunkline.hg.store.view import View
from trunkline.hg.wire.bundle_manifest import ManifestEntry, parse_entry
from trunkline.hg.wire.clonebundles import READ_SIZE, hg_path, read_manifest
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.served import Served

MANIFEST = "pullbundles.manifest"
WIRE_NAMES = {b"gzip": b"zlib", b"bzip2": b"bzip2"}  # of a specification's compression


def has_manifest(served: Served) -> bool:
    return os.path.exists(hg_path(served, MANIFEST))


def pull_bundle(exchange: Exchange, heads: Collection[int], common: Collection[int]) -> str | None:
    """The path of the first one that the client can use; None for none. Raises: StoreError."""
    if not exchange.config.bool("server", "pullbundle", True):
        return None
    if not exchange.client.takes_partial_pull:
        return None
    if not has_manifest(exchange.served):
        return own_pull_bundle(exchange, heads, common)
    served = exchange.served
    lines = read_manifest(hg_path(served, MANIFEST)).splitlines()
    entries = [entry for entry in map(parse_entry, lines) if entry is not None]
    wanted = [entry for entry in entries if is_taken_by(entry, exchange.client.engines)]
    if not wanted:
        return None
    fit = Fit(exchange.view, heads, common)
    for entry in wanted:
        path = entry_path(hg_path(served), entry)
        if path is not None and is_readable_file(path) and fit.is_useful(entry):
            return path
    return None


def own_pull_bundle(
    exchange: Exchange, heads: Collection[int], common: Collection[int]
) -> str | None:
    """Only for who has nothing: to others, most of it would be sent again. Raises: StoreError."""
    shelf = exchange.served.shelf
    if shelf is None or any(rev != NULL_REV for rev in common):
        return None
    view = exchange.view
    wanted = view.graph.lazy_ancestors(heads)
    # The usual case, and old heads would have the whole history walked.
    is_all_wanted = set(heads).issuperset(view.graph.heads.tolist())
    for edition in shelf.sound(exchange.served.root, exchange.snapshot):
        revs = [view.rev(parse_hex(head.encode())) for head in edition.heads]
        if not all(rev is not None and (is_all_wanted or rev in wanted) for rev in revs):
            continue
        by_kind = {bundle.kind: bundle for bundle in edition.bundles}
        for name, kind in KINDS.items():
            bundle = by_kind.get(name)
            if bundle is None or kind.is_stream or not shelf.is_readable(bundle):
                continue
            if installed()[kind.engine].wire_name in exchange.client.engines:
                return shelf.path(bundle)
    return None


def is_readable_file(path: str) -> bool:
    """Stock goes on to the next one, too."""
    return os.path.isfile(path) and os.access(path, os.R_OK)


def is_taken_by(entry: ManifestEntry, engines: Collection[bytes]) -> bool:
    if not entry.is_readable or entry.store_fingerprint:
        return False
    if entry.spec is not None and entry.spec.is_stream:
        return False
    compression = entry.compression
    return not compression or WIRE_NAMES.get(compression, compression) in engines


class Fit:
    """Does a bundle bring something new, nothing that wasn't asked for, upon what is there?"""

    def __init__(self, view: View, heads: Collection[int], common: Collection[int]) -> None:
        self.view = view
        self.wanted = view.graph.lazy_ancestors(heads)
        self.common = view.graph.lazy_ancestors(common)

    def is_useful(self, entry: ManifestEntry) -> bool:
        try:
            heads = self._revs(entry, b"heads")
            bases = self._revs(entry, b"bases")
        except PeerError:  # not hex
            return False
        if heads is None or bases is None:  # of changesets that aren't here, or aren't to be seen
            return False
        if b"heads" in entry.attributes:
            if all(self._is_common(rev) for rev in heads):
                return False
            if not all(rev in self.wanted or self._is_common(rev) for rev in heads):
                return False
        return all(self._is_common(rev) for rev in bases)

    def _is_common(self, rev: int) -> bool:
        return rev == NULL_REV or rev in self.common

    def _revs(self, entry: ManifestEntry, name: bytes) -> list[int] | None:
        nodes = parse_nodes(entry.attributes.get(name, b""), b";")
        revs = [self.view.rev(node) for node in nodes]
        return None if None in revs else [rev for rev in revs if rev is not None]


def entry_path(folder: str, entry: ManifestEntry) -> str | None:
    """Its file, below `folder`, symlinks resolved; None for one elsewhere."""
    if b"\0" in entry.url:
        return None
    path = os.path.realpath(os.path.join(folder, os.fsdecode(entry.url)))
    return path if path.startswith(os.path.realpath(folder) + os.sep) else None


def file_blocks(path: str) -> Iterator[bytes]:
    """Opened at once, so that what can't be read isn't found out in mid-reply."""
    try:
        file = open(path, "rb")  # noqa: SIM115 -- read while the reply is sent
    except OSError as failure:
        raise StoreError(f"can't be read: {failure.strerror}", path) from failure
    return read_to_end(file)


def read_to_end(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while block := file.read(READ_SIZE):
            yield block
