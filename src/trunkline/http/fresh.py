"""What was looked at on disk since the event loop last took in requests.

An answer must be of a state that the disk had after its request came. All requests that stand in
the loop's queue at this moment have come already: one look at the disk is as good for them as a
look for each. So many connections that keep the server busy pay for few looks, and one that comes
alone pays for its own.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

Key = TypeVar("Key")
Seen = TypeVar("Seen")


class Fresh(Generic[Key, Seen]):
    """For one event loop, and in its thread only."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._seen: dict[Key, Seen] = {}
        self._is_begun = False

    def get(self, key: Key) -> Seen | None:
        return self._seen.get(key)

    def begin(self) -> None:
        """To be called before the disk is looked at.

        The loop's queue is first in, first out: `_forget` is behind all that came before the
        look, and before all that comes later.
        """
        if not self._is_begun:
            self._is_begun = True
            self._loop.call_soon(self._forget)

    def put(self, key: Key, seen: Seen) -> None:
        assert self._is_begun
        self._seen[key] = seen

    def _forget(self) -> None:
        self._is_begun = False
        self._seen.clear()
