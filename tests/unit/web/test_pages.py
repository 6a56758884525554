from __future__ import annotations

import base64
import hashlib
import re

import pytest

from trunkline.web.landing import format_date, person
from trunkline.web.pages import Head, Row, error_page, index_page, repository_page

BAD = "<img src=x onerror=\"alert('1')\">&"


def test_nothing_of_a_repository_is_markup() -> None:
    head = Head(BAD, BAD, BAD, BAD, BAD)
    pages = [
        index_page(BAD, [Row(BAD, BAD, BAD)], True),
        repository_page(BAD, BAD, BAD, [head], True, BAD),
        error_page(404, BAD),
    ]
    for page in pages:
        assert b"<img" not in page.html
        assert b"&lt;img" in page.html


def test_the_one_style_is_the_one_that_is_allowed() -> None:
    page = error_page(404, "not found")
    (style,) = re.findall(rb"<style>(.*?)</style>", page.html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style).digest())
    policy = dict(page.headers)[b"content-security-policy"]
    assert b"'sha256-" + digest + b"'" in policy
    assert b"unsafe" not in policy
    assert b"style=" not in page.html


@pytest.mark.parametrize(
    ("path", "href"),
    [
        ("a/b", "/a/b/"),
        ("", "/"),
        ("ü %", "/%C3%BC%20%25/"),
        ("\udcff", "/%FF/"),
        ('"', "/%22/"),
        ("javascript:x", "/javascript%3Ax/"),
    ],
)
def test_links_lead_to_the_repository(path: str, href: str) -> None:
    assert Row(path, path, "").href == href
    index_page("", [Row(path, path, "")], False)


def test_empty_list_says_so() -> None:
    assert b"No repositories" in index_page("", [], False).html
    assert b"cut" not in index_page("", [], False).html


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("Jane Doe <jane@example.org>", "Jane Doe"),
        ("<jane@example.org>", "jane"),
        ("jane@example.org", "jane"),
        ("jane", "jane"),
        ("", ""),
    ],
)
def test_no_mail_address_is_shown(user: str, name: str) -> None:
    assert person(user) == name


@pytest.mark.parametrize(
    ("date", "shown"),
    [(b"0 0", "1970-01-01 00:00"), (b"0 -7200", "1970-01-01 02:00"), (b"x", "?"), (b"9e99 0", "?")],
)
def test_dates_are_in_the_committers_zone(date: bytes, shown: str) -> None:
    assert format_date(date) == shown
