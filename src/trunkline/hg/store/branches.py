"""Named branches: which one each changeset is on, whether it closes it, and their heads.

A changeset's own text says it, so reading all of them is the truth and slow. Mercurial keeps a
cache, and we keep a table in memory for each repository that grows with it.

Wire:   .hg/cache/rbc-names-v2: names parted by NUL. .hg/cache/rbc-revs-v2: 8 bytes a revision,
        the first 4 of its node, then uint32 BE number of the name, top bit set when it closes the
        branch. (-v1: the same, by hg before 6.9.)
Source: hg 7.2.4, mercurial/branching/rev_cache.py and branchmap.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from trunkline.errors import StoreError
from trunkline.hg.history.branch_heads import branch_heads
from trunkline.hg.store.changelog import parse_branch_and_closed
from trunkline.hg.store.index import ENTRY_LENGTH, NODE_AT
from trunkline.hg.store.revlog import read_whole
from trunkline.hg.store.visibility import obsolete

if TYPE_CHECKING:
    from trunkline.hg.store.changelog import Changelog
    from trunkline.hg.store.repository import Repository
    from trunkline.hg.store.snapshot import Snapshot
    from trunkline.hg.store.view import View

CLOSED: Final = 0x80000000
NUMBER: Final = 0x7FFFFFFF
UNKNOWN: Final = 0xFFFFFFFF
FEW: Final = 64  # changesets whose texts are read rather than the cache

Keys = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class BranchTable:
    """Branch and closing bit of every changeset, hidden ones too.

    keys:  the first 8 bytes of each node, so that a table of another history can't be mistaken.
    codes: number of the name, CLOSED added when the changeset closes the branch.
    """

    names: tuple[bytes, ...]
    keys: Keys
    codes: Codes

    def branch(self, rev: int) -> bytes:
        return self.names[int(self.codes[rev]) & NUMBER]

    def is_closed(self, rev: int) -> bool:
        return bool(int(self.codes[rev]) & CLOSED)


@dataclass(frozen=True, slots=True)
class BranchMap:
    """Branch name -> its heads, lowest revision first, closed ones included.

    Names are in the order of their bytes, as stock has them once its cache is written.
    """

    heads: dict[bytes, tuple[int, ...]]
    closed: frozenset[int]

    def tip(self, branch: bytes) -> int | None:
        """The highest head that is open, else the highest; None: no such branch."""
        revs = self.heads.get(branch)
        if revs is None:
            return None
        return next((rev for rev in reversed(revs) if rev not in self.closed), revs[-1])


EMPTY: Final = BranchTable((), np.empty(0, np.uint64), np.empty(0, np.uint32))
_tables: WeakKeyDictionary[Repository, BranchTable] = WeakKeyDictionary()


def branch_map(view: View) -> BranchMap:
    """Raises: StoreError."""
    snapshot = view.snapshot
    table = branch_table(snapshot)
    counted = view.graph.visible.copy()
    counted[list(obsolete(snapshot))] = False
    found = branch_heads(view.graph, table.codes & NUMBER, counted)
    heads = {table.names[number]: tuple(revs) for number, revs in found.items()}
    closed = (rev for revs in heads.values() for rev in revs if table.is_closed(rev))
    return BranchMap(dict(sorted(heads.items())), frozenset(closed))


def branch_table(snapshot: Snapshot) -> BranchTable:
    """Raises: StoreError."""
    repository = snapshot.repository
    table = extend(_tables.get(repository, EMPTY), snapshot.changelog, repository.cache_path)
    known = _tables.get(repository, EMPTY)
    if len(table.keys) >= len(known.keys) or not np.array_equal(
        known.keys[: len(table.keys)], table.keys
    ):
        _tables[repository] = table
    return table


def extend(table: BranchTable, changelog: Changelog, cache_folder: str) -> BranchTable:
    """The table for this changelog: what still fits, what the cache knows, and the rest read."""
    keys = node_keys(changelog)
    if np.array_equal(table.keys, keys):
        return table
    names = {name: number for number, name in enumerate(table.names)}
    codes: Codes = np.full(len(keys), UNKNOWN, np.uint32)
    shared = min(len(keys), len(table.keys))
    fits = table.keys[:shared] == keys[:shared]
    codes[:shared][fits] = table.codes[:shared][fits]
    if np.count_nonzero(codes == UNKNOWN) > FEW:
        take_cached(codes, names, keys, cache_folder)
    read_texts(codes, names, changelog)
    return BranchTable(tuple(names), keys, codes)


def node_keys(changelog: Changelog) -> Keys:
    index = changelog.index
    table = np.frombuffer(index.raw, np.uint8, index.count * ENTRY_LENGTH)
    nodes = table.reshape(-1, ENTRY_LENGTH)[:, NODE_AT : NODE_AT + 8]
    return np.ascontiguousarray(nodes).view(">u8").ravel().astype(np.uint64)


def take_cached(codes: Codes, names: dict[bytes, int], keys: Keys, folder: str) -> None:
    """Fill in what Mercurial's cache knows; a record counts only when its node prefix fits."""
    for version in ("v2", "v1"):
        cached_names, records = read_cache(folder, version)
        if cached_names:
            break
    else:
        return
    count = min(len(records), len(keys))
    prefixes, cached = records["prefix"][:count], records["code"][:count].astype(np.uint32)
    numbers = cached & np.uint32(NUMBER)
    fits = (prefixes != 0) & (prefixes == (keys[:count] >> np.uint64(32)))
    fits &= (numbers < len(cached_names)) & (codes[:count] == UNKNOWN)
    ours = np.array([names.setdefault(name, len(names)) for name in cached_names], np.uint32)
    codes[:count][fits] = ours[numbers[fits]] | (cached[fits] & np.uint32(CLOSED))


def read_cache(folder: str, version: str) -> tuple[list[bytes], npt.NDArray[Any]]:
    """Names and records. Names only ever grow, or are replaced after the records are gone: so
    records between two readings of the names that agree belong to those names.
    """
    record = np.dtype([("prefix", ">u4"), ("code", ">u4")])
    nothing: npt.NDArray[Any] = np.empty(0, record)
    names_path = os.path.join(folder, f"rbc-names-{version}")
    try:
        names = read_whole(names_path)
        data = read_whole(os.path.join(folder, f"rbc-revs-{version}"))
        if not names or not read_whole(names_path).startswith(names):
            return [], nothing
    except (FileNotFoundError, StoreError):
        return [], nothing
    return names.split(b"\0"), np.frombuffer(data, record, len(data) // record.itemsize)


def read_texts(codes: Codes, names: dict[bytes, int], changelog: Changelog) -> None:
    """Raises: StoreError."""
    revs: Iterable[int] = np.flatnonzero(codes == UNKNOWN).tolist()
    for rev, text in zip(revs, changelog.texts(revs), strict=True):
        branch, is_closed = changelog.parsed(rev, text, parse_branch_and_closed)
        codes[rev] = names.setdefault(branch, len(names)) | (CLOSED if is_closed else 0)
