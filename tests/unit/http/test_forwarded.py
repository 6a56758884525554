from __future__ import annotations

import pytest

from trunkline.http.forwarded import forwarded_prefix


@pytest.mark.parametrize(
    ("value", "prefix"),
    [
        (b"/hg", b"/hg"),
        (b"/a/b%20c/", b"/a/b%20c"),
        (b"/evil, /hg", b"/hg"),
        (b"/", b""),
        (b"", b""),
        (b"hg", b""),
        (b"//evil.example", b""),
        (b"/a/../b", b""),
        (b"/..", b""),
        (b"/a?b", b""),
        (b'/a"b', b""),
        (b"/" + b"a" * 1024, b""),
    ],
)
def test_prefix_is_the_last_word_if_it_is_a_path(value: bytes, prefix: bytes) -> None:
    assert forwarded_prefix({b"x-forwarded-prefix": value}) == prefix


def test_nothing_said_is_nothing() -> None:
    assert forwarded_prefix({}) == b""
