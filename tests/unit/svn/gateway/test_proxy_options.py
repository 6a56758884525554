"""Which hosts go through the gateway of `trunkline svn`."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from trunkline.svn.gateway.proxy_options import all_but

HOSTS = {"svn.example.com", "svn-2.example.com"}
OTHERS = ("svn", "svn.example.co", "svn.example.com.au", "svn-.example.com", "xvn.example.com", "a")


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_all_but_matches_none_of_them(host: str) -> None:
    assert not any(fnmatchcase(host, pattern) for pattern in all_but(HOSTS))


@pytest.mark.parametrize("host", OTHERS)
def test_all_but_matches_others(host: str) -> None:
    assert any(fnmatchcase(host, pattern) for pattern in all_but(HOSTS))
