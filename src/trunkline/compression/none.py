"""No compression at all. Source: hg 7.2.4, utils/compression.py (_noopengine)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trunkline.compression.blocks import coalesce
from trunkline.compression.engine import Engine


class NoneEngine(Engine):
    """For fast networks; every client takes it, and only an operator's word turns it on."""

    name = "none"
    wire_name = b"none"

    def compress(self, blocks: Iterable[bytes], level: int | None) -> Iterator[bytes]:
        return coalesce(blocks)
