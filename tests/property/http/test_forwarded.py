from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trunkline.http.forwarded import (
    forwarded_address,
    forwarded_prefix,
    forwarded_scheme,
)
from trunkline.http.own_url import reached_host

WORDS = st.binary(max_size=60) | st.text("/.a1:[],%@ -", max_size=20).map(str.encode)


@given(WORDS)
def test_whatever_a_proxy_passes_on_no_url_is_led_astray(value: bytes) -> None:
    headers = {b"x-forwarded-" + name: value for name in (b"for", b"proto", b"host", b"prefix")}
    assert forwarded_scheme(headers) in ("", "http", "https")
    assert " " not in forwarded_address(headers)
    assert not set(reached_host(headers, True)) & set('/@?#\\ \r\n"<>')
    prefix = forwarded_prefix(headers)
    assert prefix == b"" or (prefix[:1] == b"/" and b"//" not in prefix and prefix[-1:] != b"/")
    assert not {b".", b".."} & set(prefix.split(b"/"))
