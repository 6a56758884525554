"""Binary deltas: apply a chain of them to a text, or make one between two texts.

Wire:   any number of hunks, each three int32 BE `start, end, length` and `length` bytes that
        replace `text[start:end]`. The same bytes stand in a revlog and in a changegroup.
Source: hg 7.2.4, mercurial/mpatch.c and bdiff.c; both are used as they are (C where built so).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, cast

from mercurial import policy

from trunkline.errors import StoreError

HUNK: Final = struct.Struct(">iii")

_mpatch: Any = policy.importmod("mpatch")
_bdiff: Any = policy.importmod("bdiff")


def apply_patches(base: bytes, patches: Sequence[bytes]) -> bytes:
    """`base` with each delta applied in turn. Raises: StoreError for a delta that doesn't fit."""
    if not patches:
        return base
    try:
        return cast(bytes, _mpatch.patches(base, patches))
    except (_mpatch.mpatchError, ValueError) as error:
        raise StoreError(f"a delta doesn't fit its base ({error})") from None


def make_delta(old: bytes, new: bytes) -> bytes:
    """A delta that turns `old` into `new`, cut at line ends; b"" when they are the same."""
    if not old:
        return format_full(new) if new else b""
    return cast(bytes, _bdiff.bdiff(old, new))


def format_full(text: bytes) -> bytes:
    """A delta against the empty text: one hunk that holds all of `text`."""
    return HUNK.pack(0, 0, len(text)) + text


def format_replace(old_length: int, text: bytes) -> bytes:
    """A delta that replaces a whole text of `old_length` bytes."""
    return HUNK.pack(0, old_length, len(text)) + text
