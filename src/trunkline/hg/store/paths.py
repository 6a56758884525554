"""Where a tracked file's revlog stands in the store: names that any file system can hold.

Meaning of the four layouts, by requirement:
  (no `store`)          names as they are, only directories that end like a revlog are marked
  `store`               upper case and odd bytes are escaped, reversibly
  `store fncache`       also Windows' reserved names; names over 120 bytes are hashed into `dh/`
  ... and `dotencode`   also a dot or space at the start of a part of the path
Source: hg 7.2.4, mercurial/store.py (encodedir, encodefilename, _hybridencode, _hashencode) and
helptext/internals/requirements.txt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import Enum
from functools import lru_cache
from hashlib import sha1
from typing import Any, Final

from mercurial import policy

PATH_LIMIT: Final = 120  # bytes of an encoded path that isn't hashed
HASHED_PART: Final = 8  # bytes kept of each directory of a hashed path
HASHED_DIRECTORIES: Final = 8 * (HASHED_PART + 1) - 4  # bytes of all of them, slashes included

_MARKED_DIRECTORY: Final = re.compile(rb"\.(hg|i|d)/")
_ESCAPED: Final = re.compile(rb'[\x00-\x1f\x7e-\xff\\:*?"<>|A-Z_]')
_RESERVED: Final = re.compile(rb'[\x00-\x1f\x7e-\xff\\:*?"<>|]')
# A part of a path that Windows can't take: at its end, or as its name before the first dot.
_BAD_END: Final = re.compile(rb"[. ](?=/|\Z)")
_DEVICE: Final = re.compile(rb"(?:(?<=/)|\A)(aux|con|prn|nul|com[1-9]|lpt[1-9])(?=[./]|\Z)")
_BAD_START: Final = re.compile(rb"(?:(?<=/)|\A)[. ]")


class PathEncoding(Enum):
    """How a store names its files."""

    PLAIN = "plain"
    ESCAPED = "escaped"
    HYBRID = "hybrid"
    DOTENCODE = "dotencode"


def path_encoding(requirements: Collection[str]) -> PathEncoding:
    if "store" not in requirements:
        return PathEncoding.PLAIN
    if "fncache" not in requirements:
        return PathEncoding.ESCAPED
    return PathEncoding.DOTENCODE if "dotencode" in requirements else PathEncoding.HYBRID


def encoder(encoding: PathEncoding) -> Callable[[bytes], bytes]:
    """The function for one store, to be asked for once."""
    return ENCODERS[encoding]


def mark_directories(path: bytes) -> bytes:
    """So that a folder `foo.i` can't meet the revlog of a file `foo`."""
    return _MARKED_DIRECTORY.sub(rb".\1.hg/", path) if b"." in path else path


def escape_path(path: bytes) -> bytes:
    return _ESCAPED.sub(_escape_match, mark_directories(path))


def _escape_match(match: re.Match[bytes]) -> bytes:
    return _escape_byte(match[0])


@lru_cache(256)
def _escape_byte(byte: bytes) -> bytes:
    if byte.isalpha() and byte.isascii():
        return b"_" + byte.lower()
    return b"__" if byte == b"_" else b"~%02x" % ord(byte)


def lower_path(path: bytes) -> bytes:
    """Not reversible: upper case folded, reserved bytes escaped."""
    return _RESERVED.sub(_escape_match, path).lower()


def mask_parts(path: bytes, is_dotencode: bool) -> bytes:
    """Escape what Windows can't take in a part of a path. `path` is in lower case."""
    return b"/".join(_mask_part(part, is_dotencode) for part in path.split(b"/"))


def _mask_part(part: bytes, is_dotencode: bool) -> bytes:
    if not part:
        return part
    if is_dotencode and part[0] in b". ":
        part = b"~%02x" % part[0] + part[1:]
    else:
        part = _DEVICE.sub(_mask_device, part)
    if part[-1] in b". ":
        part = part[:-1] + b"~%02x" % part[-1]
    return part


def _mask_device(match: re.Match[bytes]) -> bytes:
    name = match[0]
    return name[:2] + b"~%02x" % name[2] + name[3:]


def hash_path(path: bytes, is_dotencode: bool) -> bytes:
    """`dh/` and the start of the names, for a path (directories marked) that is too long."""
    digest = sha1(path, usedforsecurity=False).hexdigest().encode()
    parts = mask_parts(lower_path(path[5:]), is_dotencode).split(b"/")
    name = parts.pop()
    directories = b"dh/"
    length = 0
    for part in parts:
        short = part[:HASHED_PART]
        if short[-1] in b". ":
            short = short[:-1] + b"_"
        length += len(short) + (1 if length else 0)
        if length > HASHED_DIRECTORIES:
            break
        directories += short + b"/"
    dot = name.rfind(b".")
    extension = name[dot:] if name[: max(dot, 0)].strip(b".") else b""
    space = max(0, PATH_LIMIT - len(directories) - len(digest) - len(extension))
    return directories + name[:space] + digest + extension


def _hybrid(path: bytes, is_dotencode: bool) -> bytes:
    marked = mark_directories(path)
    encoded = _ESCAPED.sub(_escape_match, marked)
    if _BAD_END.search(encoded) or _DEVICE.search(encoded) or _BAD_START.search(encoded):
        encoded = mask_parts(encoded, is_dotencode)
    return encoded if len(encoded) <= PATH_LIMIT else hash_path(marked, is_dotencode)


def encode_hybrid(path: bytes) -> bytes:
    return _hybrid(path, False)


def encode_dotencode(path: bytes) -> bytes:
    return _hybrid(path, True)


# The most common one is asked for every file of a clone: Mercurial's C code is ten times as fast.
_parsers: Any = policy.importmod("parsers")

ENCODERS: Final[dict[PathEncoding, Callable[[bytes], bytes]]] = {
    PathEncoding.PLAIN: mark_directories,
    PathEncoding.ESCAPED: escape_path,
    PathEncoding.HYBRID: encode_hybrid,
    PathEncoding.DOTENCODE: getattr(_parsers, "pathencode", encode_dotencode),
}
