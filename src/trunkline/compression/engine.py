"""What a compression engine is, and how to bring one's own.

An engine is a class with a no-argument constructor, named by an entry point of the group
`trunkline.compression` in any installed distribution:

    [project.entry-points."trunkline.compression"]
    brotli = "my_package.brotli:BrotliEngine"

The entry point's name must equal the engine's `name`. An operator then writes
`server.compressionengines = brotli, zstd, zlib`; an engine with a positive `priority` is
advertised without being asked for. The client must know the engine under its `wire_name` (for
Mercurial: an extension that registers it with `util.compengines`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from trunkline.errors import SettingsError

ENTRY_POINT_GROUP = "trunkline.compression"
WIRE_NAME_LIMIT = 255  # bytes: its length travels as one byte


class Engine(ABC):
    """Packs one reply body. One instance serves all threads, so it holds no state of a stream."""

    name: str
    """In `server.compressionengines`, and in `server.<name>level`."""

    wire_name: bytes
    """In the capability `compression=`, in the client's `comp=`, and before the payload."""

    priority: int = 0
    """Order of the default list, highest first. 0 or less: only where the operator names it."""

    levels: range = range(0)
    """Levels that `compress` takes; empty when there is nothing to choose."""

    default_level: int | None = None

    def is_available(self) -> bool:
        """False when a library that it needs isn't installed."""
        return True

    @abstractmethod
    def compress(self, blocks: Iterable[bytes], level: int | None) -> Iterator[bytes]:
        """Pack `blocks` as one stream; `level` is None or one of `levels`.

        Give out blocks of 64 KiB or more (the last may be smaller), no empty ones, and pull no
        more input than that needs: nothing here may grow with the body.
        """

    def check_level(self, level: int) -> int:
        """Raises: SettingsError, one line naming the setting and what it takes."""
        if level not in self.levels:
            allowed = f"{self.levels[0]} to {self.levels[-1]}" if self.levels else "none"
            raise SettingsError(
                f"server.{self.name}level: {level} is no level of {self.name} (levels: {allowed})"
            )
        return level
