from __future__ import annotations

import base64
import hashlib
import re
from urllib.parse import urljoin

import pytest

from trunkline.config.hgconfig import HgConfig
from trunkline.web.landing import clone_command, format_date, person
from trunkline.web.pages import Head, Link, Row, error_page, index_page, links_up, repository_page

BAD = "<img src=x onerror=\"alert('1')\">&"


def test_nothing_of_a_repository_is_markup() -> None:
    head = Head(BAD, BAD, BAD, BAD, BAD)
    pages = [
        index_page(BAD, [Row(BAD, BAD, BAD)], True),
        repository_page(BAD, BAD, BAD, [head], True, BAD),
        error_page(404, BAD, BAD, Link(BAD, BAD)),
        repository_page(BAD, "", "", [], False, links=[Link(BAD, BAD)]),
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
        ("a/b", "a/b/"),
        ("", "./"),
        ("ü %", "%C3%BC%20%25/"),
        ("\udcff", "%FF/"),
        ('"', "%22/"),
        ("javascript:x", "javascript%3Ax/"),
    ],
)
def test_links_lead_to_the_repository(path: str, href: str) -> None:
    assert Row(path, path, "").href == href
    index_page("", [Row(path, path, "")], False)


@pytest.mark.parametrize("prefix", ["", "/hg"])
@pytest.mark.parametrize("asked", ["/", "/group", "/group/", "/group/deep/"])
def test_links_lead_there_from_wherever_the_list_is(prefix: str, asked: str) -> None:
    """A proxy may have taken the prefix off."""
    page = index_page("", [Row("group/deep/r", "r", "")], False, asked.encode())
    (href,) = re.findall(rb'href="(.*?)"', page.html)
    url = urljoin(f"http://hg.example{prefix}{asked}", href.decode())
    assert url == f"http://hg.example{prefix}/group/deep/r/"


@pytest.mark.parametrize(("asked", "path"), [("/r", "r"), ("/a%20b/c/r/", "a b/c/r")])
def test_links_lead_up_to_what_a_repository_lies_in(asked: str, path: str) -> None:
    links = links_up(path, asked.encode())
    urls = [urljoin(f"http://h/hg{asked}", link.href) for link in links]
    expected = {"r": ["/hg/"], "a b/c/r": ["/hg/", "/hg/a%20b/", "/hg/a%20b/c/"]}[path]
    assert urls == [f"http://h{url}" for url in expected]
    assert links_up("", b"/") == []


def test_name_that_is_not_utf_8_shows_that() -> None:
    html = index_page("", [Row("lat\udce9in", "lat\udce9in", "")], False).html.decode()
    assert 'href="lat%E9in/">lat\N{REPLACEMENT CHARACTER}in<' in html


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("a/b", "http://h:8000/a/b"),
        ("sp ace/#1?%", "http://h:8000/sp%20ace/%231%3F%25"),
        ("ü", "http://h:8000/%C3%BC"),
        ("lat\udce9in", "http://h:8000/lat%E9in"),
        ("~x'y", "'http://h:8000/~x%27y'"),
        ("", "http://h:8000/ 'my repo'"),
    ],
)
def test_clone_line_is_one_for_a_shell(path: str, words: str) -> None:
    line = clone_command(HgConfig(), path, "http://h:8000", "/srv/my repo")
    assert line == f"hg clone {words}"


def test_clone_line_has_the_url_that_is_configured() -> None:
    values = {("web", "baseurl"): "https://x.example/hg/"}
    line = clone_command(HgConfig({}, values), "r", "http://h:8000", "/srv/r")
    assert line == "hg clone https://x.example/hg/r"


def test_no_clone_line_without_one() -> None:
    assert b"hg clone" not in repository_page("r", "", "", [], False).html


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
    [
        (b"0 0", "1970-01-01 00:00 +0000"),
        (b"0 -7200", "1970-01-01 02:00 +0200"),
        (b"86400 12600", "1970-01-01 20:30 -0330"),
        (b"x", "?"),
        (b"9e99 0", "?"),
    ],
)
def test_dates_are_in_the_committers_zone(date: bytes, shown: str) -> None:
    assert format_date(date) == shown
