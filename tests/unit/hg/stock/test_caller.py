from __future__ import annotations

import pytest

from trunkline.hg.stock.caller import ANYONE, Caller


@pytest.mark.parametrize(
    ("caller", "url"),
    [
        (ANYONE, b"remote:http::"),
        (Caller("jörg x", "127.0.0.1"), b"remote:http:127.0.0.1:j%C3%B6rg%20x"),
        (Caller("a", "::1", "https"), b"remote:https:%3A%3A1:a"),
    ],
)
def test_url_is_that_of_hgweb(caller: Caller, url: bytes) -> None:
    assert caller.url == url


def test_environment_names_only_what_is_known() -> None:
    assert ANYONE.environment == {"wsgi.url_scheme": "http"}
    assert Caller("a", "b", "https", method="POST").environment == {
        "REMOTE_USER": "a",
        "REMOTE_ADDR": "b",
        "REQUEST_METHOD": "POST",
        "wsgi.url_scheme": "https",
    }
