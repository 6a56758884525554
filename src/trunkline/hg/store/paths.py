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
from posixpath import splitext
from typing import Any, Final

from mercurial import policy

PATH_LIMIT: Final = 120  # bytes of an encoded path that isn't hashed
HASHED_FOLDERS: Final = 68  # bytes of a hashed path's folders, slashes between them included

_MARKED_DIRECTORY: Final = re.compile(rb"\.(hg|i|d)/")
_ESCAPED: Final = re.compile(rb'[\x00-\x1f\x7e-\xff\\:*?"<>|A-Z_]')
_RESERVED: Final = re.compile(rb'[\x00-\x1f\x7e-\xff\\:*?"<>|]')
# A part of a path that Windows can't take: at its end, or as its name before the first dot.
_BAD_END: Final = re.compile(rb"[. ](?=/|\Z)")
_DEVICE: Final = re.compile(rb"(?:(?<=/)|\A)(aux|con|prn|nul|com[1-9]|lpt[1-9])(?=[./]|\Z)")
_LONG_NAME: Final = re.compile(rb"([^/]{8})[^/]+")  # what a hashed path keeps of a folder's name
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
    """The name of a path (directories marked) that would be too long, told apart by its hash.

    Wire: `dh/`, the folders' names shortened, as much of the file's own name as there is room for,
          SHA-1 of the whole path in hex, the file's extension.
    """
    _top, _, below = path.partition(b"/")
    readable = mask_parts(lower_path(below), is_dotencode)
    folders, slash, name = readable.rpartition(b"/")
    start = b"dh/" + shorten_folders(folders) + slash
    extension = splitext(name)[1]
    end = sha1(path, usedforsecurity=False).hexdigest().encode() + extension
    return start + name[: max(0, PATH_LIMIT - len(start) - len(end))] + end


def shorten_folders(folders: bytes) -> bytes:
    """The start of each name, as far as whole ones fit; none ends so that Windows drops it."""
    short = _BAD_END.sub(b"_", _LONG_NAME.sub(rb"\1", folders))
    if len(short) <= HASHED_FOLDERS:
        return short
    return short[: short.rindex(b"/", 0, HASHED_FOLDERS + 1)]


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
_native: Final[Callable[[bytes], bytes]] = getattr(_parsers, "pathencode", encode_dotencode)


def encode_natively(path: bytes) -> bytes:
    """Hashed names come out of C without the NUL that Python has behind every `bytes`, so that one
    in four can't be opened ("embedded null character"): a copy has it.
    """
    encoded = _native(path)
    return bytes(memoryview(encoded)) if encoded.startswith(b"dh/") else encoded


ENCODERS: Final[dict[PathEncoding, Callable[[bytes], bytes]]] = {
    PathEncoding.PLAIN: mark_directories,
    PathEncoding.ESCAPED: escape_path,
    PathEncoding.HYBRID: encode_hybrid,
    PathEncoding.DOTENCODE: encode_natively,
}
