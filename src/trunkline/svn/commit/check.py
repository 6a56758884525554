"""What keys, paths, names and tokens look like. Raises: PeerError for others."""

from __future__ import annotations

import re

from trunkline.errors import PeerError
from trunkline.svn.commit.limits import (
    KEY_BYTES,
    NAME_BYTES,
    PATH_BYTES,
    PATH_NAMES,
    TOKEN_BYTES,
)

KEY = re.compile(rb"[A-Za-z0-9._-]{1,%d}" % KEY_BYTES)
RELATIVE = (b"", b".", b"..")


def check_key(key: bytes) -> None:
    if not KEY.fullmatch(key):
        raise PeerError(f"not a key of 1 to {KEY_BYTES} letters, digits and ._-")


def check_path(path: bytes) -> None:
    """From the root on: "/" or "/a/b"."""
    if len(path) > PATH_BYTES:
        raise PeerError(f"a path of more than {PATH_BYTES} bytes")
    if b"\0" in path or not is_utf8(path):
        raise PeerError("a path that isn't UTF-8, or has a NUL")
    names = path.split(b"/")
    if not path.startswith(b"/"):
        raise PeerError("a path without a slash at its start")
    if path != b"/" and any(name in RELATIVE for name in names[1:]):
        raise PeerError("a path with an empty or relative name")
    if len(names) - 1 > PATH_NAMES:
        raise PeerError(f"a path of more than {PATH_NAMES} names")


def check_name(name: bytes) -> None:
    if not 0 < len(name) <= NAME_BYTES or b"\0" in name or not is_utf8(name):
        raise PeerError("not a name of a property")


def check_token(token: bytes) -> None:
    if not 0 < len(token) <= TOKEN_BYTES or b"\0" in token or not token.isascii():
        raise PeerError("not a lock token")


def is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
