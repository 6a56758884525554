"""Makes a connection that is going to be closed end in a reset instead.

HTTP/1.0 knows no chunks: the end of a reply without a length is the end of its connection, and a
broken one looks like a whole one, unless the connection is reset. The HTTP library closes it, and
doesn't show its socket; it is found among the open files of the process by whom it leads to.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

FOLDER = "/dev/fd"
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: what isn't sent yet is thrown away, with a reset


def reset_when_closed(peer: Sequence[Any]) -> None:
    """`peer`: host and port, which Granian gives as a string. Nothing happens where it isn't
    found, as with a unix socket.
    """
    wanted = list(map(str, peer[:2]))
    for descriptor in descriptors():
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as found:
            if list(map(str, found.getpeername()[:2])) == wanted:
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)


def descriptors() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(name) for name in os.listdir(FOLDER) if name.isdigit())
