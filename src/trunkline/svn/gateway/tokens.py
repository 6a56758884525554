"""Lock tokens as clients send them, by paths in the repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from trunkline.errors import PeerError
from trunkline.svn.dav.url import clean_path, join
from trunkline.svn.dav.xml_in import Element

# Wire: <URL> (<token>) <URL> (<token>). Source: subversion 1.14, libsvn_ra_serf/commit.c.
CONDITION = re.compile(rb"<([^>]*)>\s*\(\s*<(opaquelocktoken:[!-;=?-~]*)>\s*\)")

Token = tuple[bytes, bytes]  # path, token


def if_tokens(header: bytes, path_of: Callable[[bytes], bytes]) -> Iterator[Token]:
    """Of an `If` header. `path_of` takes a URL."""
    for url, token in CONDITION.findall(header):
        yield path_of(url), token


def listed_tokens(body: Element | None, folder: bytes) -> Iterator[Token]:
    """Of `S:lock-token-list`, itself or within `body`. Paths are relative to `folder`.

    Raises: PeerError.
    """
    if body is None:
        return
    holder = body if body.name == "lock-token-list" else body.child("lock-token-list")
    for one in holder.all("lock") if holder else ():
        path, token = one.child("lock-path"), one.child_text("lock-token")
        if path is None or not token:
            raise PeerError("lock-token-list: a lock without path or token")
        yield clean_path(join(folder, path.text)), token
