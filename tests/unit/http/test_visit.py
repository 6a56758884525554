from __future__ import annotations

from typing import Any

import pytest

from trunkline.http.visit import read_visit


def scope(*headers: tuple[bytes, bytes], client: str = "127.0.0.1") -> dict[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/a/b",
        "raw_path": b"/a%2fb",
        "query_string": b"cmd=heads",
        "headers": list(headers),
        "client": (client, 1234),
    }


PROXIED = (
    (b"x-forwarded-for", b"203.0.113.9, 192.0.2.7"),
    (b"x-forwarded-proto", b"https"),
    (b"x-forwarded-host", b"www.example"),
    (b"x-forwarded-prefix", b"/hg/"),
)


def test_path_stays_as_it_was_sent() -> None:
    assert read_visit(scope(), ()).raw_path == b"/a%2fb"


def test_a_trusted_proxy_is_believed_in_its_last_word() -> None:
    visit = read_visit(scope(*PROXIED), {"127.0.0.1"})
    assert (visit.address, visit.scheme) == ("192.0.2.7", "https")
    assert visit.base_url == "https://www.example/hg"


def test_tells_whose_headers_they_are_and_which_came_twice() -> None:
    visit = read_visit(scope(*PROXIED), {"127.0.0.1"})
    assert (visit.is_proxied, visit.repeated) == (True, frozenset())
    twice = scope((b"x-user", b"alice"), (b"a", b"b"), (b"x-user", b"admin"))
    visit = read_visit(twice, ())
    assert (visit.is_proxied, visit.repeated) == (False, frozenset({b"x-user"}))


def test_anybody_else_is_not() -> None:
    visit = read_visit(scope((b"host", b"own"), *PROXIED), {"192.0.2.1"})
    assert (visit.address, visit.scheme) == ("127.0.0.1", "http")
    assert visit.base_url == "http://own"


@pytest.mark.parametrize("value", [b"", b"unknown", b"192.0.2.7, _x", b"1" * 100, b"\r\n"])
def test_an_address_that_is_none_is_passed_over(value: bytes) -> None:
    assert read_visit(scope((b"x-forwarded-for", value)), {"127.0.0.1"}).address == "127.0.0.1"


def test_an_ipv6_address_of_a_proxy_counts() -> None:
    visit = read_visit(scope((b"x-forwarded-for", b"[2001:DB8::1]")), {"127.0.0.1"})
    assert visit.address == "2001:db8::1"


@pytest.mark.parametrize("value", [b"", b"ftp", b"https, gopher"])
def test_a_scheme_that_is_none_is_passed_over(value: bytes) -> None:
    assert read_visit(scope((b"x-forwarded-proto", value)), {"127.0.0.1"}).scheme == "http"


def test_a_unix_socket_has_a_name() -> None:
    assert read_visit({**scope(), "client": None}, ()).address == "unix"


@pytest.mark.parametrize(
    ("headers", "server", "host"),
    [
        ([(b"host", b"hg.example")], ("127.0.0.1", 8000), "hg.example"),
        ([], ("127.0.0.1", 8000), "127.0.0.1:8000"),
        ([(b"host", b"")], ("::1", 8000), "[::1]:8000"),
        ([], ("/run/t.sock", None), "localhost"),
        ([], None, "localhost"),
    ],
)
def test_host_is_never_empty(
    headers: list[tuple[bytes, bytes]], server: tuple[str, int | None] | None, host: str
) -> None:
    assert read_visit({**scope(*headers), "server": server}, ()).host == host
