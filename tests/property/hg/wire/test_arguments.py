"""Whatever a peer sends, the parsers give a value or a PeerError, and nothing else."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote_from_bytes, urlencode

from hypothesis import given
from hypothesis import strategies as st

from trunkline.errors import PeerError
from trunkline.hg.wire.arguments import bind, parse_pairs, parse_query, sent_arguments
from trunkline.hg.wire.batch import escape, format_replies, parse_calls, unescape
from trunkline.hg.wire.proto import client_protocol
from trunkline.hg.wire.request import Request, post_arguments_length

NAMES = st.sampled_from([b"x-hgarg-1", b"x-hgarg-2", b"x-hgproto-1", b"x-hgargs-post"])
HEADERS = st.dictionaries(NAMES, st.binary(max_size=60) | st.just(b"3"))


@given(st.binary(max_size=200), HEADERS, st.binary(max_size=60))
def test_any_request_is_read_or_refused(
    query: bytes, headers: dict[bytes, bytes], body: bytes
) -> None:
    request = Request("POST", query, headers, body)
    with suppress(PeerError):
        sent = sent_arguments(request, parse_query(query))
        bind(b"known", (b"nodes", b"*"), sent)
    with suppress(PeerError):
        client_protocol(headers)
    with suppress(PeerError):
        post_arguments_length(headers)


@given(st.lists(st.tuples(st.binary(min_size=1), st.binary())))
def test_what_a_client_encodes_is_read_back(pairs: list[tuple[bytes, bytes]]) -> None:
    assert parse_pairs(urlencode(pairs).encode()) == pairs
    quoted = b"&".join(
        b"%s=%s" % (quote_from_bytes(name).encode(), quote_from_bytes(value).encode())
        for name, value in pairs
    )
    assert parse_pairs(quoted) == pairs


@given(st.binary())
def test_any_batch_is_read_or_refused(text: bytes) -> None:
    unescape(text)
    with suppress(PeerError):
        parse_calls(text)


@given(st.text(alphabet="ab=,;: ", max_size=30))
def test_nearly_right_batch_is_read_or_refused(text: str) -> None:
    with suppress(PeerError):
        parse_calls(text.encode())


@given(st.binary())
def test_unescape_undoes_escape(plain: bytes) -> None:
    assert unescape(escape(plain)) == plain
    assert not set(b",;=") & set(escape(plain))


@given(st.lists(st.binary(), min_size=1))
def test_batch_replies_are_parted_again(replies: list[bytes]) -> None:
    assert [unescape(reply) for reply in format_replies(replies).split(b";")] == replies
