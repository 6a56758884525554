"""One group of a changegroup: the chosen revisions of one revlog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from trunkline.hg.bundle.bases import Bases, chain_bases
from trunkline.hg.bundle.deltas import Texts, deltas
from trunkline.hg.bundle.logs import ColumnLog, Log
from trunkline.hg.bundle.packing import Packer
from trunkline.hg.bundle.version import Version
from trunkline.hg.store.delta import make_delta
from trunkline.hg.store.revlog import ColumnRevlog, Revlog

BATCH: Final = 4096  # revisions whose heads are made at a time

# (revlog, revs, deltas, bases, links) -> the same deltas, looked at on their way out
Watch = Callable[
    [Revlog, Iterable[int], Iterable[bytes], Iterable[int], Iterable[int]], Iterator[bytes]
]


def write_group(
    packer: Packer,
    version: Version,
    log: Log,
    revs: Sequence[int],
    links: Sequence[int],
    changelog: ColumnRevlog,
    is_whole: bool,
    watch: Watch | None = None,
) -> Iterator[bytes]:
    """`revs` are sorted, `links` the changesets that bring them. The end mark is the caller's."""
    if not len(revs):
        return
    texts = Texts(log.revlog)
    bases = Bases(log, revs, is_whole) if version.has_base else None
    previous = log.parents(revs[:1])[0][0]
    for at in range(0, len(revs), BATCH):
        some, their_links = revs[at : at + BATCH], links[at : at + BATCH]
        chosen = bases.choose(some, previous) if bases else chain_bases(some, previous)
        chunks = deltas(log, texts, some, chosen)
        if watch:
            chunks = watch(log.revlog, some, chunks, chosen, their_links)
        heads = log.heads(version, some, chosen, their_links, changelog)
        yield from packer.revisions(log.revlog, heads, chosen, chunks)
        previous = some[-1]


def write_changesets(
    packer: Packer,
    version: Version,
    changelog: ColumnRevlog,
    revs: Sequence[int],
    texts: Iterator[bytes],
) -> Iterator[bytes]:
    """The changelog's group. Mercurial stores changesets whole and sends them so."""
    if not len(revs):
        return
    log = ColumnLog(changelog, changelog.count)
    previous = log.parents(revs[:1])[0][0]
    if not version.has_base:
        texts = checked(changelog, revs, texts)
        texts = against_previous(texts, changelog.text(previous) if previous >= 0 else b"")
    for at in range(0, len(revs), BATCH):
        some = revs[at : at + BATCH]
        bases = [-1] * len(some) if version.has_base else chain_bases(some, previous)
        heads = log.heads(version, some, bases, some, changelog)
        yield from packer.revisions(changelog, heads, bases, islice(texts, len(some)))
        previous = some[-1]


def checked(revlog: Revlog, revs: Iterable[int], texts: Iterable[bytes]) -> Iterator[bytes]:
    """The same texts. Raises: StoreError for one that isn't what its node says."""
    for rev, text in zip(revs, texts, strict=True):
        revlog.check(rev, text)
        yield text


def against_previous(texts: Iterable[bytes], previous: bytes) -> Iterator[bytes]:
    for text in texts:
        yield make_delta(previous, text) if previous else text
        previous = text
