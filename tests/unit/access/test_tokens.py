from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from trunkline.access.tokens import (
    PREFIX,
    Tokens,
    format_tokens,
    looks_like_token,
    make_token,
    parse_tokens,
)
from trunkline.errors import SettingsError

NOW = datetime(2030, 1, 1, tzinfo=UTC)
MADE = make_token("alice", ("team/**",), True, NOW, "for a test")
TOKENS = Tokens({MADE.token.id: MADE.token})


def test_is_found_by_its_text_until_it_expires() -> None:
    assert TOKENS.find(MADE.text, NOW - timedelta(seconds=1)) == MADE.token
    assert TOKENS.find(MADE.text, NOW) is None


@pytest.mark.parametrize(
    "text",
    ["", PREFIX, MADE.text[:-1], MADE.text + "x", MADE.token.id, f"{PREFIX}{MADE.token.id}_", "_"],
    ids=range(7),  # not the texts: they are others in each process
)
def test_no_other_text_is(text: str) -> None:
    assert TOKENS.find(text, NOW - timedelta(days=1)) is None


def test_a_changed_end_is_another_token() -> None:
    other = make_token("alice", ("**",), True, None)
    mixed = f"{PREFIX}{MADE.token.id}_{other.text.rpartition('_')[2]}"
    assert TOKENS.find(mixed, NOW - timedelta(days=1)) is None


def test_file_holds_no_secret_and_comes_back_as_it_was() -> None:
    data = format_tokens(TOKENS)
    assert MADE.text.encode() not in data
    assert MADE.text.partition("_")[2].partition("_")[2].encode() not in data
    assert parse_tokens(data) == TOKENS
    assert parse_tokens(b"") == Tokens()


def test_two_are_never_alike() -> None:
    texts = {make_token("a", (), False, None).text for _ in range(50)}
    assert len(texts) == 50
    assert all(looks_like_token(text.encode()) and len(text) > 60 for text in texts)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "no file of tokens"),
        (b'{"version": 2}', "version 2"),
        (b'{"tokens": [{}]}', "id"),
        (b'{"tokens": [], "more": 1}', "more"),
        (format_tokens(TOKENS).replace(b"alice", b"a:b"), "can be no user"),
        (format_tokens(TOKENS).replace(MADE.token.id.encode(), b"../x"), "id"),
        (format_tokens(TOKENS).replace(b"01T00:00:00Z", b"01T00:00:00"), "zone"),
    ],
)
def test_broken_file(data: bytes, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        parse_tokens(data)
    assert "\n" not in caught.value.text
