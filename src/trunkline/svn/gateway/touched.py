"""Which of a commit's files its client takes for new: the answer to their PUT differs.

Source: subversion 1.14, libsvn_ra_serf/commit.c: `add_file` and `close_file`.
"""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.svn.gateway.message import Request

OF_OLD_FILES = (b"x-svn-version-name", b"x-svn-base-fulltext-md5")


class Touched:
    """Holds: the paths of folders made, of what was deleted, and of files asked for and not sent
    yet. A client asks (`HEAD`) for each file that it adds, but where nothing can be.
    """

    def __init__(self) -> None:
        self._asked: set[bytes] = set()
        self._made: set[bytes] = set()
        self._deleted: set[bytes] = set()
        self._copied: set[bytes] = set()
        self._notes = {
            b"HEAD": self._asked,
            b"MKCOL": self._made,
            b"DELETE": self._deleted,
            b"COPY": self._copied,
        }

    def note(self, method: bytes, path: bytes) -> None:
        if method in self._notes:
            self._notes[method].add(path)

    def is_new(self, path: bytes, put: Request) -> bool:
        if path in self._asked:
            self._asked.discard(path)
            return True
        if path in self._copied or any(map(put.header, OF_OLD_FILES)):
            return False
        if path.rpartition(b"/")[0] in self._made:
            return True
        return not self._deleted.isdisjoint((path, *parents(path)))

    def is_own(self, method: bytes, path: bytes) -> bool:
        """Whether something was at `path` when `method` came is this commit's own doing."""
        if method == b"DELETE":
            before = path in self._made or path in self._copied
        else:
            before = path in self._deleted
        own = (self._made, self._deleted, self._copied)
        return before or any(not one.isdisjoint(parents(path)) for one in own)


def parents(path: bytes) -> Iterator[bytes]:
    """From the nearest on, without the root."""
    while path := path.rpartition(b"/")[0]:
        yield path
