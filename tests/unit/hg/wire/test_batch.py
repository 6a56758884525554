from __future__ import annotations

import pytest

from trunkline.errors import PeerError
from trunkline.hg.wire.batch import (
    BATCH_ARGUMENTS_LIMIT,
    BATCH_LIMIT,
    Call,
    escape,
    format_replies,
    parse_calls,
    unescape,
)


@pytest.mark.parametrize(
    ("plain", "escaped"),
    [(b"", b""), (b"a:b,c;d=e", b"a:cb:oc:sd:ee"), (b":e", b":ce"), (b"::", b":c:c")],
)
def test_escape_and_unescape(plain: bytes, escaped: bytes) -> None:
    assert escape(plain) == escaped
    assert unescape(escaped) == plain


def test_unknown_escape_stands_for_itself() -> None:
    assert unescape(b":x:") == b":x:"


def test_calls_are_read() -> None:
    assert parse_calls(b"heads ;known nodes=00:o11,x:e=") == [
        Call(b"heads", {}),
        Call(b"known", {b"nodes": b"00,11", b"x=": b""}),
    ]


@pytest.mark.parametrize("text", [b"", b"heads", b"heads ;", b"known nodes", b"known a=b=c", b";;"])
def test_malformed_batch_is_refused(text: bytes) -> None:
    with pytest.raises(PeerError, match="batch: "):
        parse_calls(text)


def test_batch_past_limit_is_refused() -> None:
    assert len(parse_calls(b";".join([b"heads "] * BATCH_LIMIT))) == BATCH_LIMIT
    with pytest.raises(PeerError, match="more than 20000 commands"):
        parse_calls(b";".join([b"heads "] * (BATCH_LIMIT + 1)))


def test_arguments_past_limit_are_refused() -> None:
    """Of all commands together: each costs a hundred times its bytes in memory."""
    names = b",".join(b"n%d=" % number for number in range(BATCH_ARGUMENTS_LIMIT // 2 + 1))
    assert len(parse_calls(b"heads " + names)[0].sent) == BATCH_ARGUMENTS_LIMIT // 2 + 1
    with pytest.raises(PeerError, match="more than 20000 arguments"):
        parse_calls(b";".join([b"heads " + names] * 2 + [b"heads a=,b="]))


def test_replies_are_escaped_and_joined() -> None:
    assert format_replies([b"a;b\n", b"", b"1=0"]) == b"a:sb\n;;1:e0"
