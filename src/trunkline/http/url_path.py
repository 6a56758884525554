"""The path of a request line, cut into names that are safe below a root."""

from __future__ import annotations

import os
from urllib.parse import unquote_to_bytes

from trunkline.config.limits import Limits
from trunkline.errors import PeerError

NOT_FOUND = "not found"

# What no name below a root may be or hold. A backslash could be a separator for somebody.
FORBIDDEN_NAMES = frozenset({b"", b".", b".."})
FORBIDDEN_BYTES = (b"/", b"\\", b"\0")
CONTROL_FOLDERS = frozenset({b".hg"})  # compared in lower case: some disks take .HG for it


def parse_path(raw: bytes, limits: Limits) -> tuple[str, ...]:
    """The names between the slashes; one slash at the end is no name.

    Wire:   percent-encoded; decoded once, after the cut, so that %2f makes no separator.
    Raises: PeerError 404 for a name that can't be served, 400 for no path, 414 past the limit.
    """
    if len(raw) > limits.path_bytes:
        raise PeerError(f"the path is longer than {limits.path_bytes} bytes", status=414)
    if not raw.startswith(b"/"):
        raise PeerError("the path must start with a slash")
    if raw == b"/":
        return ()
    names = raw[1:].split(b"/", limits.path_segments + 1)
    if names[-1] == b"":
        names.pop()
    if len(names) > limits.path_segments:
        text = f"{NOT_FOUND}: the path has more than {limits.path_segments} segments"
        raise PeerError(text, status=404)
    return tuple(parse_name(name) for name in names)


def parse_name(raw: bytes) -> str:
    name = unquote_to_bytes(raw) if b"%" in raw else raw
    if name in FORBIDDEN_NAMES or name.lower() in CONTROL_FOLDERS:
        raise PeerError(NOT_FOUND, status=404)
    if any(byte in name for byte in FORBIDDEN_BYTES):
        raise PeerError(NOT_FOUND, status=404)
    return os.fsdecode(name)
