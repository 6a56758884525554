"""Which part of a file a request wants, if it wants the file at all.

Source: RFC 9110, sections 13.1 (If-Match, If-None-Match, If-Range), 13.2.2 (their order) and 14.2
(Range). Several ranges at once are answered by the whole, as section 14.2 allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

NUMBER_LIMIT: Final = 18  # digits of a position in a file
RANGE: Final = re.compile(rb"bytes=[ \t]*(\d*)-(\d*)[ \t]*", re.IGNORECASE)
TAG: Final = re.compile(rb'(?:W/)?"[^"]*"')


@dataclass(frozen=True, slots=True)
class Asked:
    """`status` 206: the bytes from `offset` on; 200: all; 304, 412, 416: none."""

    status: int
    offset: int
    length: int


def what_is_asked(method: str, headers: Mapping[bytes, bytes], etag: bytes, size: int) -> Asked:
    """Of a file of `size` bytes whose strong tag is `etag`. We give no times, so a condition by
    time never holds for a part, and asks for nothing otherwise.
    """
    matches = headers.get(b"if-match")
    if matches is not None and matches.strip() != b"*" and etag not in TAG.findall(matches):
        return Asked(412, 0, 0)
    others = headers.get(b"if-none-match")
    if others is not None and (others.strip() == b"*" or is_among(etag, others)):
        return Asked(304, 0, 0)
    whole = Asked(200, 0, size)
    if method != "GET" or headers.get(b"if-range", etag).strip() != etag:
        return whole
    return part(headers.get(b"range", b""), size) or whole


def is_among(etag: bytes, tags: bytes) -> bool:
    """By the weak comparison."""
    return etag in (tag.removeprefix(b"W/") for tag in TAG.findall(tags))


def part(value: bytes, size: int) -> Asked | None:
    """None for all of it: no range, one that can't be read, several."""
    found = RANGE.fullmatch(value.strip())
    if found is None:
        return None
    first, last = found[1], found[2]
    if not first and not last:
        return None
    if max(len(first), len(last)) > NUMBER_LIMIT:
        return None
    if not first:  # the last so many bytes
        length = min(int(last), size)
        return Asked(206, size - length, length) if length else Asked(416, 0, 0)
    start, end = int(first), int(last) + 1 if last else size
    if end <= start and last:
        return None
    if start >= size:
        return Asked(416, 0, 0)
    return Asked(206, start, min(end, size) - start)


def content_range(asked: Asked, size: int) -> bytes:
    if asked.status == 416:
        return b"bytes */%d" % size
    return b"bytes %d-%d/%d" % (asked.offset, asked.offset + asked.length - 1, size)
