"""`python -m tests.unit.svn.peak REPOSITORY AREA FOLDERS FILES`: by how much large requests and
answers raise this process's peak of memory, as JSON. The repository is one of `make_wide`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from resource import RUSAGE_SELF, getrusage

from trunkline.reply import Stream
from trunkline.svn.dav.answer import answer
from trunkline.svn.dav.exchange import Served
from trunkline.svn.dav.request import Request
from trunkline.svn.repository.session import Sessions
from trunkline.svn.txn.area import Area

AT_ONCE = 500  # entries
UPDATE = b'<S:update-report send-all="true" xmlns:S="svn:"><S:src-path>/</S:src-path>'
PROPFIND = b'<propfind xmlns="DAV:"><allprop/></propfind>'
ENTRY = b'<S:entry rev="1">d%d/f%d</S:entry>'


@dataclass
class Asked:
    """Bytes."""

    sent: int
    got: int
    grown: int


class Peak:
    def __init__(self, repository: str, area: str) -> None:
        path = repository.encode()
        self._served = Served(path=path, identity=1, sessions=Sessions(1), area=Area(area, 1))

    def ask(self, method: str, path: bytes, blocks: Iterable[bytes], depth: bytes = b"") -> Asked:
        before, sent = peak(), 0

        def counted() -> Iterator[bytes]:
            nonlocal sent
            for block in blocks:
                sent += len(block)
                yield block

        request = Request(method, b"", path, headers={b"depth": depth}, blocks=counted())
        body = answer(self._served, request).body
        assert isinstance(body, Stream)
        got = sum(len(block) for block in body.blocks)
        return Asked(sent, got, peak() - before)


def peak() -> int:
    return getrusage(RUSAGE_SELF).ru_maxrss * 1024


def has_all(folders: int, files: int) -> Iterator[bytes]:
    yield UPDATE + b'<S:entry rev="1"/>'
    for folder in range(folders):
        for start in range(0, files, AT_ONCE):
            yield b"".join(ENTRY % (folder, file) for file in range(start, start + AT_ONCE))
    yield b"</S:update-report>"


def main(repository: str, area: str, folders: int, files: int) -> None:
    at = Peak(repository, area)
    nothing = UPDATE + b'<S:entry rev="1" start-empty="true"/></S:update-report>'
    # First what fills libsvn's own cache, which is bounded.
    at.ask("REPORT", b"/!svn/me", has_all(1, files))
    found = {
        "report": at.ask("REPORT", b"/!svn/me", has_all(folders, files)),
        "update": at.ask("REPORT", b"/!svn/me", [nothing]),
        "folder": at.ask("PROPFIND", b"/d0", [PROPFIND], b"1"),
    }
    print(json.dumps({name: vars(asked) for name, asked in found.items()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
