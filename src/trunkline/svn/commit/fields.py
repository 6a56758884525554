"""The fields of a record: strings, revisions, digests.

Wire:   string = uint32 BE length, bytes; revision = int64 BE, -1 for none;
        MD5 = uint8 length, 0 or 16, bytes.
"""

from __future__ import annotations

import struct

from trunkline.errors import PeerError

LENGTH = struct.Struct(">I")
REVISION = struct.Struct(">q")
COUNT = struct.Struct(">Q")
NONE = -1
MD5_BYTES = 16
NEWEST = 2**31 - 1  # of revisions: what Subversion has room for


def format_string(value: bytes) -> bytes:
    return LENGTH.pack(len(value)) + value


def format_revision(value: int | None) -> bytes:
    return REVISION.pack(NONE if value is None else value)


def format_md5(value: bytes | None) -> bytes:
    """Raises: ValueError for what is no MD5 in hex."""
    raw = b"" if value is None else bytes.fromhex(value.decode("ascii"))
    if len(raw) not in (0, MD5_BYTES):
        raise ValueError("not an MD5 in hex")
    return bytes([len(raw)]) + raw


class Fields:
    """Those of one record, taken in their order. Raises: PeerError, anywhere."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._payload):
            raise PeerError("a record shorter than its fields")
        data, self._at = self._payload[self._at : end], end
        return data

    def byte(self, what: str, most: int) -> int:
        value = self._take(1)[0]
        if value > most:
            raise PeerError(f"{what}: {value} is none")
        return value

    def string(self) -> bytes:
        (size,) = LENGTH.unpack(self._take(LENGTH.size))
        return self._take(size)

    def revision(self) -> int | None:
        (value,) = REVISION.unpack(self._take(REVISION.size))
        if not NONE <= value <= NEWEST:
            raise PeerError(f"{value} is no revision")
        return None if value == NONE else int(value)

    def count(self) -> int:
        (value,) = COUNT.unpack(self._take(COUNT.size))
        return int(value)

    def md5(self) -> bytes | None:
        size = self.byte("an MD5's length", MD5_BYTES)
        if size not in (0, MD5_BYTES):
            raise PeerError(f"an MD5's length: {size} is none")
        return self._take(size).hex().encode() or None

    def bytes(self, size: int) -> bytes:
        return self._take(size)

    @property
    def is_done(self) -> bool:
        return self._at == len(self._payload)

    def finish(self) -> None:
        if not self.is_done:
            raise PeerError("a record longer than its fields")
