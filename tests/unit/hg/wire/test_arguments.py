from __future__ import annotations

import pytest

from trunkline.errors import PeerError
from trunkline.hg.wire.arguments import (
    ARGUMENT_COUNT_LIMIT,
    HEADER_ARGUMENTS_LIMIT,
    QUERY_LIMIT,
    bind,
    command_name,
    parse_pairs,
    parse_query,
    sent_arguments,
)
from trunkline.hg.wire.request import Request


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (b"", []),
        (b"cmd=heads", [(b"cmd", b"heads")]),
        (b"a=1&b=2&a=3", [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]),
        (b"a=&b", [(b"a", b""), (b"b", b"")]),
        (b"&&a=1&", [(b"a", b"1")]),
        (b"four=qu++atre&one=+un", [(b"four", b"qu  atre"), (b"one", b" un")]),
        (b"k=%C3%A9%ff%00", [(b"k", b"\xc3\xa9\xff\x00")]),
        (b"k=\xc3\xa9\xff", [(b"k", b"\xc3\xa9\xff")]),
        (b"k=%zz%4&%41=100%", [(b"k", b"%zz%4"), (b"A", b"100%")]),
        (b"a=b=c;d", [(b"a", b"b=c;d")]),
        (b"%2B=+%2B+", [(b"+", b" + ")]),
    ],
)
def test_pairs_are_read_byte_clean(text: bytes, pairs: list[tuple[bytes, bytes]]) -> None:
    assert parse_pairs(text) == pairs


def test_pairs_past_limit_are_refused() -> None:
    assert len(parse_pairs(b"&".join([b"a=1"] * ARGUMENT_COUNT_LIMIT))) == ARGUMENT_COUNT_LIMIT
    with pytest.raises(PeerError, match="more than 1000 arguments"):
        parse_pairs(b"&".join([b"a=1"] * (ARGUMENT_COUNT_LIMIT + 1)))


def test_query_past_limit_is_refused() -> None:
    assert parse_query(b"a=" + b"b" * (QUERY_LIMIT - 2))
    with pytest.raises(PeerError) as caught:
        parse_query(b"a=" + b"b" * (QUERY_LIMIT - 1))
    assert caught.value.status == 414


def test_last_cmd_is_the_command() -> None:
    assert command_name(parse_query(b"cmd=heads&x=1&cmd=known")) == b"known"
    assert command_name(parse_query(b"x=1")) is None


def test_headers_are_joined_at_any_byte_and_win_over_query() -> None:
    headers = {b"x-hgarg-1": b"one=e", b"x-hgarg-2": b"ins&two=%4", b"x-hgarg-3": b"1"}
    request = Request("GET", b"cmd=x&one=query&three=3", headers | {b"x-hgarg-5": b"&no=1"})
    assert sent_arguments(request, parse_query(request.query)) == {
        b"cmd": b"x",
        b"one": b"eins",
        b"two": b"A",
        b"three": b"3",
    }


def test_first_of_a_name_counts() -> None:
    request = Request("GET", b"cmd=x&one=1&one=2")
    assert sent_arguments(request, parse_query(request.query))[b"one"] == b"1"


def test_body_arguments_replace_headers() -> None:
    headers = {b"x-hgargs-post": b"6", b"x-hgarg-1": b"two=2"}
    request = Request("POST", b"cmd=x", headers, body=b"one=+1")
    assert sent_arguments(request, parse_query(request.query)) == {b"cmd": b"x", b"one": b" 1"}


@pytest.mark.parametrize("body", [b"one=", b"one=123"])
def test_body_of_another_length_is_refused(body: bytes) -> None:
    request = Request("POST", b"cmd=x", {b"x-hgargs-post": b"5"}, body=body)
    with pytest.raises(PeerError, match="5 bytes announced"):
        sent_arguments(request, [])


def test_header_arguments_past_limit_are_refused() -> None:
    headers = {b"x-hgarg-1": b"a" * HEADER_ARGUMENTS_LIMIT}
    assert sent_arguments(Request("GET", b"", headers), [])
    with pytest.raises(PeerError) as caught:
        sent_arguments(Request("GET", b"", headers | {b"x-hgarg-2": b"b"}), [])
    assert caught.value.status == 431


def test_bind_sorts_by_what_is_declared() -> None:
    sent = {b"cmd": b"known", b"nodes": b"", b"extra": b"1"}
    bound = bind(b"known", (b"nodes", b"*"), sent)
    assert bound[b"nodes"] == b""
    assert bound.others == {b"extra": b"1"}
    assert bind(b"heads", (), sent).others == {}


def test_missing_argument_is_one_clear_line() -> None:
    with pytest.raises(PeerError, match="lookup: argument 'key' is missing"):
        bind(b"lookup", (b"key",), {})
