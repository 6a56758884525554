from __future__ import annotations

import pytest

from trunkline.http.own_url import reached_host, repository_url


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (b"hg.example.org", "hg.example.org"),
        (b"hg.example.org:8000", "hg.example.org:8000"),
        (b"[::1]:8000", "[::1]:8000"),
        (b"", ""),
        (b"a b", ""),
        (b"a/../b", ""),
        (b"user@host", ""),
        (b"host\nX: y", ""),
        (b"h\xc3\xb6st", ""),
    ],
)
def test_host_is_one_that_can_stand_in_a_url(host: bytes, expected: str) -> None:
    assert reached_host({b"host": host}, False) == expected
    assert reached_host({b"host": b"inner", b"x-forwarded-host": host}, True) == (
        expected if host else "inner"
    )


def test_proxies_are_believed_only_if_they_are_ours() -> None:
    headers = {b"host": b"inner", b"x-forwarded-host": b"outer, inner"}
    assert reached_host(headers, True) == "outer"
    assert reached_host(headers, False) == ""
    assert reached_host({b"host": b"inner"}, False, "1.0") == ""
    assert reached_host({b"host": b"outer"}, True, "1.0") == "outer"


@pytest.mark.parametrize(
    ("base", "names", "expected"),
    [
        ("https://h", (), "https://h/"),
        ("https://h/hg/", ("a", "b c"), "https://h/hg/a/b%20c"),
        ("http://h", ("gr\u00f6\udcff", "x?#&"), "http://h/gr%C3%B6%FF/x%3F%23%26"),
        ("", ("a",), ""),
    ],
)
def test_url_of_a_repository(base: str, names: tuple[str, ...], expected: str) -> None:
    assert repository_url(base, names) == expected
