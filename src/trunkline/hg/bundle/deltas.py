"""The deltas themselves: as they are stored where that is possible, made anew where not."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from trunkline.hg.bundle.logs import NO_DELTA, Log
from trunkline.hg.store.delta import format_replace, make_delta
from trunkline.hg.store.revlog import Revlog

TEXTS: Final = 16 * 1024 * 1024  # bytes of full texts kept of one revlog


class Texts:
    """Full texts of one revlog; those asked for last are kept, as the next ones build on them."""

    def __init__(self, revlog: Revlog) -> None:
        self._revlog = revlog
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._size = 0

    def text(self, rev: int) -> bytes:
        """As stored, a tombstone for a censored one.

        Raises: StoreError for one that isn't what its node says.
        """
        if rev < 0:
            return b""
        if rev in self._kept:
            self._kept.move_to_end(rev)
            return self._kept[rev]
        chain = self._revlog.chain(rev)
        at = next((at for at in range(len(chain) - 1, -1, -1) if chain[at] in self._kept), -1)
        chunks = self._revlog.stored_many(chain[at + 1 :])
        start = self._kept[chain[at]] if at >= 0 else next(chunks)
        text = self._revlog.patched(rev, start, list(chunks))
        self._revlog.check(rev, text)
        self._keep(rev, text)
        return text

    def _keep(self, rev: int, text: bytes) -> None:
        self._kept[rev] = text
        self._size += len(text)
        while self._size > TEXTS and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1])


def deltas(log: Log, texts: Texts, revs: Sequence[int], bases: Sequence[int]) -> Iterator[bytes]:
    """For each of `revs` what turns its base into it; for base -1 the full text."""
    stored = log.bases(revs)
    if stored == bases:
        return log.revlog.stored_many(revs)
    return _mixed(log, texts, revs, bases, stored)


def _mixed(
    log: Log, texts: Texts, revs: Sequence[int], bases: Sequence[int], stored: Sequence[int]
) -> Iterator[bytes]:
    as_stored = [rev for rev, base, other in zip(revs, bases, stored, strict=True) if base == other]
    chunks = log.revlog.stored_many(as_stored)
    for rev, base, other in zip(revs, bases, stored, strict=True):
        if base == other:
            yield next(chunks)
        elif base < 0:
            yield texts.text(rev)
        else:
            yield make(log, texts, rev, base)


def make(log: Log, texts: Texts, rev: int, base: int) -> bytes:
    """A new delta; where either text isn't what its node says, one that replaces all.

    Mercurial takes no other delta against a censored base.
    """
    first, second = log.flags([rev, base])
    if (first | second) & NO_DELTA:
        return format_replace(len(texts.text(base)), texts.text(rev))
    return make_delta(texts.text(base), texts.text(rev))
