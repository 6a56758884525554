from __future__ import annotations

import pytest

from trunkline.errors import PeerError, StoreError
from trunkline.hg.stock.stdio import explain, veil

ROOT = "/srv/repos/one"


@pytest.mark.parametrize(
    ("status", "words", "text"),
    [
        (10, b"abort: unknown bundle type specified in stream\n", "unknown bundle type specified"),
        (40, b"hook says no\nabort: preoutgoing hook exited with status 1\n", "preoutgoing hook"),
        (50, b"abort: 00changelog@1111: no node\n", "unknown revision '1111'"),
        (
            20,
            b"abort: could not lock working directory of /srv/repos/one: Permission denied\n",
            "the server may not write to this repository: Permission denied",
        ),
        (255, b"abort: incompatible Mercurial client; bundle2 required\n", "incompatible"),
        (255, b"error: preoutgoing.x hook failed: not you\nabort: not you\n", "not you"),
    ],
)
def test_what_is_meant_for_the_peer(status: int, words: bytes, text: str) -> None:
    error = explain(status, words, ROOT)
    assert isinstance(error, PeerError)
    assert error.text.startswith(text)
    assert error.status == 400


UNSEEN = [
    "filtered revision 'it's' (not in 'served' subset)",
    "filtered revision 'it's'",
    "hidden revision 'it's' was rewritten as: 1f0dee641bb7",
    "hidden revision 'it's' is pruned",
]


@pytest.mark.parametrize("text", UNSEEN)
def test_what_is_hidden_is_told_as_unknown(text: str) -> None:
    assert veil(text) == "unknown revision 'it's'"


def test_a_filtered_node_is_told_as_one_that_is_not_there() -> None:
    node = "f" * 40
    words = [f"00changelog@{node}: {kind} node" for kind in ("no", "filtered")]
    assert [veil(text) for text in words] == [f"unknown revision '{node}'"] * 2


def test_other_words_stay() -> None:
    assert veil("ambiguous identifier 'ff'") == "ambiguous identifier 'ff'"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (50, b"abort: data/a.i@1234: no match found\n"),
        (255, b"abort: Permission denied: '/srv/repos/one/.hg/store'\n"),
        (255, b"abort: can't read /etc/passwd\n"),
        (255, b"abort: repository /srv/repos/one not found\n"),
        (255, b"abort: empty or missing file data for big\n"),
        (30, b"abort: the configuration is odd\n"),
        (20, b"abort: could not lock repository /srv/repos/one: No space left on device\n"),
        (1, b"Traceback (most recent call last):\nValueError: x\n"),
        (-9, b""),
    ],
)
def test_what_is_not(status: int, words: bytes) -> None:
    error = explain(status, words, ROOT)
    assert isinstance(error, StoreError)
    assert "\n" not in error.text
