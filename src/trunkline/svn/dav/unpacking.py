"""Content codings of requests, taken off: never more than a block at once, whatever is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, cast

import zstandard
from isal import isal_zlib

from trunkline.errors import PeerError

BLOCK = 256 * 1024  # bytes that are unpacked at once
WINDOW = 8 * 1024 * 1024  # bytes, at most. Source: RFC 8878, 3.1.1.1.2 and RFC 9659
GZIP = 16 + 15  # wbits of zlib: gzip's head, the largest window
UNSUPPORTED = 415
DAMAGED: Final = cast("type[Exception]", isal_zlib.error)


def unpacked(coding: bytes, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Raises: PeerError, for what isn't known or isn't whole."""
    unpack = CODINGS.get(coding.strip().lower())
    if unpack is None:
        text = "a content coding that isn't known here: zstd and gzip are"
        raise PeerError(text, status=UNSUPPORTED)
    return unpack(iter(blocks))


class Blocks:
    """An iterator as a file that zstandard reads."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._held = b""
        self.is_at_end = False

    def read(self, size: int) -> bytes:
        while not self._held and not self.is_at_end:
            try:
                self._held = next(self._blocks)
            except StopIteration:
                self.is_at_end = True
        data, self._held = self._held[:size], self._held[size:]
        return data


def from_zstd(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """That it breaks off isn't noticed here: what is in it says where it ends."""
    unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    source: Any = Blocks(blocks)
    reader = unpacker.stream_reader(source, read_across_frames=True)
    while True:
        try:
            data = reader.read(BLOCK)
        except zstandard.ZstdError as error:
            raise PeerError(f"the body is no zstd: {error}") from None
        if not data:
            return
        yield data


def from_gzip(blocks: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = isal_zlib.decompressobj(GZIP)
    for block in blocks:
        left = block
        while left:
            if unpacker.eof:
                unpacker = isal_zlib.decompressobj(GZIP)
            try:
                data = unpacker.decompress(left, BLOCK)
            except DAMAGED as error:
                raise PeerError(f"the body is no gzip: {error}") from None
            left = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            if data:
                yield data
    if not unpacker.eof:
        raise PeerError("the body is no gzip: it breaks off")


CODINGS: dict[bytes, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    b"": iter,
    b"identity": iter,
    b"zstd": from_zstd,
    b"gzip": from_gzip,
    b"x-gzip": from_gzip,
}
