"""Who makes a file: the first to create its NAME.part."""

from __future__ import annotations

import os
from contextlib import suppress

from trunkline.spool.lease import hold
from trunkline.spool.place import FILE_MODE, Place, open_place

NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def claim(place: Place, name: str, dead: int = 0) -> int | None:
    """The new file, held; None when somebody else makes it.

    `dead`: the inode of a file whose maker was found dead, which is put out of the way.
    Raises: OSError, StoreError.
    """
    path = place.part(name)
    for _ in range(3):
        try:
            descriptor = os.open(path, NEW, FILE_MODE)
        except FileExistsError:
            if not dead or not remove(path, dead):
                return None
        except FileNotFoundError:  # the folder was deleted
            open_place(place.folder)
        else:
            hold(descriptor)
            return descriptor
    return None


def remove(path: str, inode: int) -> bool:
    """If it is still that file. Between the two steps another may take its place: then two build,
    and nobody reads the wrong thing.
    """
    with suppress(FileNotFoundError):
        if os.stat(path).st_ino != inode:
            return False
        os.unlink(path)
    return True
