from __future__ import annotations

import pytest

from trunkline.config.limits import Limits
from trunkline.errors import PeerError
from trunkline.http.url_path import parse_path

LIMITS = Limits(path_bytes=200, path_segments=5)


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        (b"/", ()),
        (b"/a", ("a",)),
        (b"/a/", ("a",)),
        (b"/a/b", ("a", "b")),
        (b"/a%20b/c", ("a b", "c")),
        (b"/%C3%BC", ("ü",)),
        (b"/\xc3\xbc", ("ü",)),
        (b"/%ff", ("\udcff",)),
        (b"/a%2e", ("a.",)),
        (b"/...", ("...",)),
        (b"/.hgx", (".hgx",)),
        (b"/%252e%252e", ("%2e%2e",)),
        (b"/a%zz", ("a%zz",)),
        (b"/1/2/3/4/5/", ("1", "2", "3", "4", "5")),
    ],
)
def test_cuts_and_decodes(raw: bytes, names: tuple[str, ...]) -> None:
    assert parse_path(raw, LIMITS) == names


@pytest.mark.parametrize(
    "raw",
    [
        b"/..",
        b"/../etc",
        b"/a/../b",
        b"/%2e%2e/b",
        b"/%2E./b",
        b"/.",
        b"/a/./b",
        b"/a%2fb",
        b"/a%2Fb",
        b"/a%5cb",
        b"/a\\b",
        b"/..%5c..%5c",
        b"/a%00",
        b"//",
        b"//a",
        b"/a//b",
        b"/a/.hg",
        b"/.hg/store",
        b"/a/.HG",
        b"/a/%2ehg",
        b"/a/.h%67/store",
        b"/1/2/3/4/5/6",
    ],
)
def test_refuses_what_could_leave_a_root(raw: bytes) -> None:
    with pytest.raises(PeerError) as caught:
        parse_path(raw, LIMITS)
    assert caught.value.status == 404


def test_refuses_a_path_past_the_limit() -> None:
    parse_path(b"/" + b"a" * 199, LIMITS)
    with pytest.raises(PeerError) as caught:
        parse_path(b"/" + b"a" * 200, LIMITS)
    assert caught.value.status == 414


def test_says_how_many_segments_there_may_be() -> None:
    with pytest.raises(PeerError, match="more than 5 segments"):
        parse_path(b"/1/2/3/4/5/6", LIMITS)


def test_refuses_no_path() -> None:
    with pytest.raises(PeerError) as caught:
        parse_path(b"*", LIMITS)
    assert caught.value.status == 400
