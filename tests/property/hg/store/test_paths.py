"""Path encoding holds to Mercurial's own functions for any path."""

from __future__ import annotations

import os
import re

import hypothesis.strategies as st
import pytest
from hypothesis import example, given
from mercurial import store

from trunkline.hg.store.paths import PathEncoding, encode_dotencode, encoder

NAMES = b"aux con.txt COM1 lpt9. nul .hg x.i y.d z.hg . ..a A _ ~ a.b.c com0 dot. \xc3\xa9"
WORDS = st.sampled_from([*NAMES.split(b" "), b" ", b"a" * 40, b"Long_NAME." * 5])
# What no tracked file's name holds: NUL, line ends, and the slash that parts it.
LETTERS = st.binary(min_size=1, max_size=12).map(lambda text: re.sub(rb"[\0\r\n/]", b"-", text))
PART = st.lists(st.one_of(WORDS, LETTERS), min_size=1, max_size=4).map(b"".join)
PATH = st.builds(
    lambda head, parts, end: head + b"/".join(parts) + end,
    st.sampled_from([b"data/", b"meta/"]),
    st.lists(PART, min_size=1, max_size=9),
    st.sampled_from([b".i", b".d"]),
)


@given(PATH)
@example(b"data/" + b"a." * 60 + b".i")
@example(b"data/" + b"x" * 200 + b"/....i")
@example(b"data/foo.i/bar.d/bla.hg/hi:world?/HELLO.i")
def test_dotencode_is_mercurials(path: bytes) -> None:
    assert encode_dotencode(path) == store._pathencode(path) == store._hybridencode(path, True)
    assert encoder(PathEncoding.DOTENCODE)(path) == encode_dotencode(path)


@given(PATH)
def test_hybrid_without_dotencode_is_mercurials(path: bytes) -> None:
    assert encoder(PathEncoding.HYBRID)(path) == store._hybridencode(path, False)


@given(PATH)
def test_escaped_is_mercurials(path: bytes) -> None:
    assert encoder(PathEncoding.ESCAPED)(path) == store.encodefilename(path)


@given(PATH)
def test_plain_is_mercurials(path: bytes) -> None:
    assert encoder(PathEncoding.PLAIN)(path) == store.encodedir(path)


# Each turn of the rules for paths that are hashed; the oracle's answers are in the test below.
LONG = "x" * 121
EIGHTS = "/".join(f"{number:08}" for number in range(7))  # 62 bytes of folders
HASHED = [
    f"data/{LONG}.i",
    f"data/{LONG}",  # no extension
    f"data/.{LONG}.i",
    f"data/dir/...{LONG}",  # leading dots start no extension
    f"data/dir/{'y' * 60}.{'z' * 90}.d",  # an extension that leaves no room for the name
    f"data/{'folder.d/' * 3}{LONG}.i",
    f"data/1234567.89/1234567 89/short/{LONG}.i",  # cut right behind a dot and a space
    f"data/{EIGHTS}/{EIGHTS}/{EIGHTS}/f.i",  # more folders than fit
    f"data/{EIGHTS}/12345/f{LONG}.i",  # 68 bytes of folders
    f"data/{EIGHTS}/123456/f{LONG}.i",  # one more
    f"data/AUX/con.txt/{LONG}.D.i",
    f"data/ space/.dot/{LONG}. .i",
    "data/" + "gr\u00fc\u00df/" * 20 + "f.i",
    f"data/meta/{LONG}.i",
    f"meta/{LONG}/00manifest.i",
]


@pytest.mark.parametrize("text", HASHED)
@pytest.mark.parametrize("is_dotencode", [True, False])
def test_long_paths_are_hashed_as_mercurials(text: str, is_dotencode: bool) -> None:
    path = text.encode()
    encode = encoder(PathEncoding.DOTENCODE if is_dotencode else PathEncoding.HYBRID)
    assert encode(path).startswith(b"dh/")
    assert encode(path) == store._hybridencode(path, is_dotencode)
    if is_dotencode:
        assert encode_dotencode(path) == encode(path)


LONG_PATH = st.builds(
    lambda parts: b"data/" + b"/".join(parts) + b"/" + LONG.encode() + b".i",
    st.lists(PART, min_size=1, max_size=12),
)


@given(LONG_PATH)
def test_any_long_path_is_hashed_as_mercurials(path: bytes) -> None:
    assert encode_dotencode(path) == store._hybridencode(path, True)
    assert encoder(PathEncoding.HYBRID)(path) == store._hybridencode(path, False)


def test_hashed_name_can_be_opened() -> None:
    """Mercurial's C code gives bytes that aren't NUL-terminated: Python refuses them at random."""
    encode = encoder(PathEncoding.DOTENCODE)
    for number in range(200):
        path = encode(b"data/%d/%b.d" % (number, LONG.encode()))
        with pytest.raises(FileNotFoundError):
            os.stat(path)
