"""A part of a file on its way into a connection, copied by the kernel.

Source: sendfile(2); preadv2(2) on RWF_NOWAIT.
"""

from __future__ import annotations

import errno
import os

from trunkline.errors import StoreError

OF_THE_FILE = {errno.EIO, errno.EINVAL, errno.ESTALE, errno.EBADF, errno.EOVERFLOW, errno.ENOMEM}


def copy_out(
    connection: int, descriptor: int, path: str, offset: int, size: int, may_wait: bool
) -> int | None:
    """Of the file at `path`. The number of bytes that the connection took. Unless it `may_wait`
    for the disk, they are in memory, or None is given.

    Raises: BlockingIOError when the connection takes none; ConnectionError; StoreError.
    """
    if not may_wait and not is_in_memory(descriptor, offset, size):
        return None
    try:
        count = os.sendfile(connection, descriptor, offset, size)
    except (BlockingIOError, ConnectionError):
        raise
    except OSError as error:
        if error.errno in OF_THE_FILE:
            raise StoreError(f"can't be sent: {error.strerror}", path, offset) from error
        raise ConnectionError(str(error)) from error
    if not count:
        raise StoreError("has become shorter", path, offset)
    return count


def is_in_memory(descriptor: int, offset: int, size: int) -> bool:
    """As its ends tell. False where the system doesn't say."""
    try:
        return all(
            os.preadv(descriptor, [bytearray(1)], place, os.RWF_NOWAIT)
            for place in (offset, offset + size - 1)
        )
    except OSError:
        return False
