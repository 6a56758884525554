"""How many builds run at once on this machine, whoever asked for them."""

from __future__ import annotations

import os

from trunkline.spool.lease import try_hold
from trunkline.spool.place import FILE_MODE, Place


class Slots:
    """Files under a lock; the lock ends with the process that holds it."""

    def __init__(self, place: Place, count: int) -> None:
        host = os.uname().nodename.replace(".", "_")[:64]
        self._paths = [f"{place.folder}/slot-{host}-{number}" for number in range(count)]

    def take(self) -> int | None:
        """A descriptor to keep open for as long as the slot is needed; None: all are taken.

        Raises: OSError.
        """
        for path in self._paths:
            descriptor = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE
            )
            try:
                if try_hold(descriptor):
                    return descriptor
            except OSError:  # no locks on this file system: no limit either
                return descriptor
            os.close(descriptor)
        return None
