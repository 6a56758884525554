"""The socket of a connection, which the HTTP library doesn't show: found among the open files of
the process by whom it leads to.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

FOLDER = "/dev/fd"
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: what isn't sent yet is thrown away, with a reset
UNSENT = 0x5411  # SIOCOUTQ: bytes that the peer hasn't acknowledged. Source: Linux, sockios.h


def find_connection(peer: Sequence[Any]) -> socket.socket | None:
    """One of our own that leads to `peer` (host and port, which Granian gives as a string), to be
    closed. None where there is none, as with a unix socket.
    """
    wanted = list(map(str, peer[:2]))
    for descriptor in descriptors():
        with suppress(OSError), ExitStack() as stack:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            found = stack.enter_context(socket.socket(fileno=os.dup(descriptor)))
            if list(map(str, found.getpeername()[:2])) == wanted:
                found.setblocking(False)  # as it is; a mode that both have
                stack.pop_all()
                return found
    return None


def descriptors() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(name) for name in os.listdir(FOLDER) if name.isdigit())


def has_unsent(connection: socket.socket) -> bool:
    """Whether some of what was written is still under way. Raises: OSError."""
    found = fcntl.ioctl(connection, UNSENT, bytes(4))
    return int.from_bytes(found, sys.byteorder) > 0


def reset_when_closed(connection: socket.socket) -> None:
    """A reply that ends with its connection, as with HTTP/1.0, looks like a whole one when it is
    broken off, unless the connection is reset.
    """
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)


def reset_connection(peer: Sequence[Any] | None) -> None:
    """The one that leads to `peer`, once the HTTP library closes it."""
    connection = peer and find_connection(peer)
    if connection:
        with connection:
            reset_when_closed(connection)
