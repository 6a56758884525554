"""Where commits are put together: one folder on disk for all workers."""

from __future__ import annotations


class Area:
    def __init__(self, root: str) -> None:
        self.root = root
