"""RFC 9110's rules, case by case."""

from __future__ import annotations

import pytest

from trunkline.hg.wire.byte_range import Asked, content_range, what_is_asked

TAG = b'"a"'
SIZE = 100
WHOLE = Asked(200, 0, SIZE)
NONE = Asked(416, 0, 0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"bytes=0-9", Asked(206, 0, 10)),
        (b"Bytes=0-0", Asked(206, 0, 1)),
        (b"bytes=90-", Asked(206, 90, 10)),
        (b"bytes=90-1000", Asked(206, 90, 10)),
        (b"bytes=-30", Asked(206, 70, 30)),
        (b"bytes=-1000", Asked(206, 0, SIZE)),
        (b"bytes=0-", Asked(206, 0, SIZE)),
        (b"bytes=100-", NONE),
        (b"bytes=100-200", NONE),
        (b"bytes=-0", NONE),
        # Ignored: not well formed, another unit, or several.
        (b"bytes=9-1", WHOLE),
        (b"bytes=-", WHOLE),
        (b"bytes=1", WHOLE),
        (b"bytes=a-b", WHOLE),
        (b"bytes=+1-2", WHOLE),
        (b"bytes=\xb2-\xb3", WHOLE),
        (b"lines=0-1", WHOLE),
        (b"bytes=0-1,5-6", WHOLE),
        (b"bytes=" + b"9" * 100_000 + b"-", WHOLE),
        (b"", WHOLE),
    ],
)
def test_range(value: bytes, expected: Asked) -> None:
    assert what_is_asked("GET", {b"range": value}, TAG, SIZE) == expected
    assert what_is_asked("HEAD", {b"range": value}, TAG, SIZE) == WHOLE


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (TAG, True),
        (b'"b"', False),
        (b'W/"a"', False),  # a weak one is none for parts
        (b"Wed, 21 Oct 2015 07:28:00 GMT", False),
        (b"", False),
    ],
)
def test_part_only_of_the_file_that_was_meant(condition: bytes, holds: bool) -> None:
    headers = {b"range": b"bytes=0-9", b"if-range": condition}
    expected = Asked(206, 0, 10) if holds else WHOLE
    assert what_is_asked("GET", headers, TAG, SIZE) == expected


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({b"if-match": TAG}, 200),
        ({b"if-match": b"*"}, 200),
        ({b"if-match": b'"b", "a"'}, 200),
        ({b"if-match": b'"b"'}, 412),
        ({b"if-match": b'W/"a"'}, 412),
        ({b"if-none-match": TAG}, 304),
        ({b"if-none-match": b'W/"a"'}, 304),
        ({b"if-none-match": b"*"}, 304),
        ({b"if-none-match": b'"b", "c"'}, 200),
        ({b"if-match": b'"b"', b"if-none-match": TAG}, 412),
        ({b"if-none-match": TAG, b"range": b"bytes=0-1"}, 304),
        ({b"if-match": TAG, b"range": b"bytes=0-1"}, 206),
    ],
)
def test_conditions_in_their_order(headers: dict[bytes, bytes], status: int) -> None:
    assert what_is_asked("GET", headers, TAG, SIZE).status == status


def test_content_range_names_the_part_or_only_the_size() -> None:
    assert content_range(Asked(206, 10, 5), SIZE) == b"bytes 10-14/100"
    assert content_range(NONE, SIZE) == b"bytes */100"
