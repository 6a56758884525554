"""A repository as the disk had it at one moment: what an answer may depend on."""

from __future__ import annotations

import os

from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.served import Served

MANIFEST = "clonebundles.manifest"  # in .hg


class State:
    """Looked at when it is made. Good for every request that had come before that.

    Raises: StoreError.
    """

    __slots__ = ("has_clone_bundles", "served", "snapshot")

    def __init__(self, served: Served) -> None:
        self.served = served
        self.snapshot: Snapshot | None = served.snapshot()  # None: the bridge serves it
        self.has_clone_bundles = os.path.exists(f"{served.root}/.hg/{MANIFEST}")
