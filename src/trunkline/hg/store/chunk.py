"""One chunk as a revlog stores it, back to the bytes that were stored.

Wire:   the first byte says how. None: empty. NUL: raw, itself the first byte. "u": raw, without
        that byte. "x": zlib. "(" (0x28): a zstd frame, with its content size unless
        that is over 1,000,000 bytes.
Source: hg 7.2.4, mercurial/helptext/internals/revlogs.txt, revlog.py and utils/compression.py.
"""

from __future__ import annotations

import threading
from typing import Final, cast

import zstandard
from isal import isal_zlib

from trunkline.errors import StoreError

NUL: Final = 0x00
LITERAL: Final = 0x75  # "u"
ZLIB: Final = 0x78  # "x"
ZSTD: Final = 0x28  # first byte of the zstd magic


class _PerThread(threading.local):
    """A ZstdDecompressor must not be used by two threads at once."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


_LOCAL = _PerThread()
DAMAGED: Final = (cast("type[Exception]", isal_zlib.error), zstandard.ZstdError)


def decompress_zstd(chunk: bytes) -> bytes:
    """Raises: zstandard.ZstdError."""
    try:
        return _LOCAL.zstd.decompress(chunk)
    except zstandard.ZstdError:
        if zstandard.frame_content_size(chunk) >= 0:
            raise
    frame = _LOCAL.zstd.decompressobj()
    data = frame.decompress(chunk)
    if not frame.eof:
        raise zstandard.ZstdError("the frame is cut short")
    return data


def decompress(chunk: bytes) -> bytes:
    """The stored bytes. Raises: StoreError; the caller knows the path and adds it."""
    if not chunk:
        return b""
    kind = chunk[0]
    try:
        if kind == ZSTD:
            return decompress_zstd(chunk)
        if kind == ZLIB:
            return isal_zlib.decompress(chunk)  # a third less CPU than zlib's own
    except DAMAGED as error:
        raise StoreError(f"a chunk doesn't decompress ({error})") from None
    if kind == NUL:
        return chunk
    if kind == LITERAL:
        return chunk[1:]
    raise StoreError(f"a chunk starts with an unknown byte 0x{kind:02x}")
