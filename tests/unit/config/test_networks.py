from __future__ import annotations

import pytest

from trunkline.config.networks import Networks

SOME = ("10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "unix")


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1", "unix"]
)
def test_holds_what_is_named_or_in_a_network(address: str) -> None:
    assert address in Networks(SOME, "trusted_proxies")


@pytest.mark.parametrize("address", ["11.1.2.3", "192.0.2.8", "2001:db9::1", "", "x", "10.0.0.0/8"])
def test_holds_nothing_else(address: str) -> None:
    assert address not in Networks(SOME, "trusted_proxies")


def test_unix_is_not_meant_by_any_network() -> None:
    assert "unix" not in Networks(["0.0.0.0/0", "::/0"], "trusted_proxies")


@pytest.mark.parametrize("word", ["foo", "", "127.0.0.1:80", "10.0.0.1/8", "10.0.0.0/33", "[::1]"])
def test_other_words_are_refused_by_name(word: str) -> None:
    with pytest.raises(ValueError, match="trusted_proxies") as caught:
        Networks([word], "trusted_proxies")
    assert repr(word) in str(caught.value)
