"""One repository on disk, read-only; and its latest snapshot, kept while nothing moves."""

from __future__ import annotations

import os
from threading import Lock

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.store.capture import take
from trunkline.hg.store.requirements import Layout, read_layout
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.store.stamp import Stamp, read_inode, read_stamp

LayoutStamps = tuple[Stamp | int | None, ...]


class Repository:
    """May be used from any number of threads.

    Raises: NotNative where the requirements aren't ours, also later from `snapshot` when they
    have been changed since; StoreError where there is no repository.
    """

    def __init__(self, root: str, config: HgConfig | None = None) -> None:
        self.root = os.path.abspath(root)
        self.hg_path = os.path.join(self.root, ".hg")
        self.config = HgConfig() if config is None else config
        self._lock = Lock()
        self._layout, self._layout_stamps = self._load_layout()
        self._snapshot: Snapshot | None = None

    @property
    def layout(self) -> Layout:
        return self._layout

    @property
    def store_path(self) -> str:
        return self._layout.store_path

    @property
    def cache_path(self) -> str:
        """Where Mercurial keeps caches of what is in the store."""
        return self._layout.source_path + "/cache"

    @property
    def requirements(self) -> frozenset[str]:
        return self._layout.requirements

    def snapshot(self) -> Snapshot:
        """The state of now: the last one if no file that matters has moved (a dozen stats), else
        a new one. Raises: StoreError, NotNative.
        """
        kept = self.kept_snapshot()
        if kept is not None:
            return kept
        with self._lock:
            snapshot = self._snapshot
            if snapshot is not None and self._is_current(snapshot):  # another thread was faster
                return snapshot
            if stamp_layout(self._layout) != self._layout_stamps:
                self._snapshot = None
                self._layout, self._layout_stamps = self._load_layout()
            self._snapshot = take(self, self._snapshot)
            return self._snapshot

    def kept_snapshot(self) -> Snapshot | None:
        """The last one, if it is the state of now; None where only `snapshot` can tell, which may
        have to read, and to wait for who writes.
        """
        snapshot = self._snapshot
        return snapshot if snapshot is not None and self._is_current(snapshot) else None

    def _is_current(self, snapshot: Snapshot) -> bool:
        return snapshot.is_current() and stamp_layout(self._layout) == self._layout_stamps

    def _load_layout(self) -> tuple[Layout, LayoutStamps]:
        layout = read_layout(self.hg_path)
        while True:
            stamps = stamp_layout(layout)
            again = read_layout(self.hg_path)
            if again == layout:
                return layout, stamps
            layout = again


def stamp_layout(layout: Layout) -> LayoutStamps:
    """The store's folder and the files that say what the repository requires: moved when another
    folder takes its place, when they are rewritten.
    """
    return (
        read_inode(layout.store_path),
        read_stamp(layout.hg_path + "/requires"),
        read_stamp(layout.store_path + "/requires"),
    )
