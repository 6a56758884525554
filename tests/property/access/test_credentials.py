from __future__ import annotations

from base64 import b64encode
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from trunkline.access.credentials import PASSWORD_LIMIT, Basic, parse_authorization
from trunkline.errors import PeerError

HEADERS = st.binary(max_size=80) | st.builds(
    lambda scheme, rest: scheme + b" " + rest,
    st.sampled_from([b"Basic", b"basic", b"Bearer", b"BEARER"]),
    st.binary(max_size=80) | st.binary(max_size=80).map(b64encode),
)


@given(HEADERS)
def test_only_the_peer_is_ever_at_fault(value: bytes) -> None:
    with suppress(PeerError):
        parse_authorization(value)


@given(st.binary(max_size=40), st.binary(max_size=PASSWORD_LIMIT))
def test_basic_comes_back_as_it_was_sent(user: bytes, password: bytes) -> None:
    user, password = user.replace(b":", b"").replace(b"\0", b""), password.replace(b"\0", b"")
    found = parse_authorization(b"Basic " + b64encode(user + b":" + password))
    assert isinstance(found, Basic)
    assert found.user.encode("utf-8", "surrogateescape") == user
    assert found.password == password
