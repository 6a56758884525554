"""Replies recorded from Mercurial 7.2.4 (tests/golden/record.py), byte for byte."""

from __future__ import annotations

import json

import pytest
from tests.compat.serving import Serve
from tests.compat.sources import Source
from tests.golden.record import OPTIONS, QUERIES, RECORDED, ask

REPLIES = json.loads(RECORDED.read_text())


def test_everything_asked_is_recorded() -> None:
    assert list(REPLIES) == list(QUERIES)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query[:40])
def test_reply_is_as_recorded(query: str, source: Source, serve: Serve) -> None:
    assert ask(serve(source("seed"), *OPTIONS).address, query) == REPLIES[query]
