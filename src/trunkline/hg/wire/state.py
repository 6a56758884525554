"""A repository as the disk had it at one moment: what an answer may depend on."""

from __future__ import annotations

from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.served import Served


class State:
    """Looked at when it is made. Good for every request that had come before that.

    Raises: StoreError.
    """

    __slots__ = ("has_clone_bundles", "served", "snapshot")

    def __init__(self, served: Served, kept: Snapshot | None = None) -> None:
        """`kept`: the snapshot that was just seen to be the state of now."""
        self.served = served
        self.snapshot = kept or served.snapshot()  # None: the bridge serves it
        self.has_clone_bundles = served.has_manifest or (
            self.snapshot is not None and served.has_own_bundles
        )
