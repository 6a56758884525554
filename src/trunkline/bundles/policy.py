"""Whether it is time for new bundles of a repository."""

from __future__ import annotations

from trunkline.config.bundles import Bundles
from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.bundle_file import KINDS, VIEW, Kind, estimate_size, may_stream
from trunkline.hg.bundle.estimate import store_size
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.shelf import Edition, Shelf, is_sound


def wanted_kinds(settings: Bundles, snapshot: Snapshot, config: HgConfig) -> list[Kind]:
    """Those that can be made of it, in the order of making: a stream must be of the same state as
    the others, and takes seconds where they take minutes. Raises: StoreError, SettingsError.
    """
    if not count_public(snapshot):
        return []
    found = [kind for name, kind in KINDS.items() if name in settings.kinds]
    found = [kind for kind in found if not kind.is_stream or may_stream(snapshot, config)]
    return sorted(found, key=lambda kind: not kind.is_stream)


def is_large_enough(settings: Bundles, snapshot: Snapshot) -> bool:
    if settings.make == "auto":
        if store_size(snapshot) < settings.smallest_bytes:  # most are: no view is worked out
            return False
        return estimate_size(KINDS["zstd"], snapshot) >= settings.smallest_bytes
    return settings.make == "always"


def is_due(
    settings: Bundles, shelf: Shelf, edition: Edition | None, snapshot: Snapshot, kinds: list[Kind]
) -> bool:
    """There are none, or the repository has outgrown them, or one is missing."""
    if edition is None or not is_sound(edition, snapshot):
        return bool(kinds)
    grown = count_public(snapshot) - edition.changesets
    if grown * 100 >= edition.changesets * settings.growth_percent:
        return bool(kinds)
    there = {each.kind for each in edition.bundles if shelf.is_readable(each)}
    return not there.issuperset(kind.name for kind in kinds)


def count_public(snapshot: Snapshot) -> int:
    return len(snapshot.view(VIEW).graph.all)
