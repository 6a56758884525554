"""Path encoding holds to Mercurial's own functions for any path."""

from __future__ import annotations

import re

import hypothesis.strategies as st
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
