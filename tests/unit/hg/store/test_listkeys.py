"""Namespaces that depend on configuration; what agrees with Mercurial in general: test_view."""

from __future__ import annotations

from pathlib import Path

import pytest
from mercurial import obsolete, phases, pushkey, util
from tests.unit.hg.store.stock import EVOLUTION, Stock

from trunkline.hg.store.view import View


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    """0 - 1 rewritten as 2; secret 3 rewritten as secret 4."""
    stock = Stock(tmp_path / "repo")
    for parents in ((), (0,), (0,)):
        stock.commit(*parents)
    for _ in range(2):
        stock.commit(0, phase=phases.secret)
    stock.rewrite([1], [2])
    return stock


def served(stock: Stock) -> View:
    return stock.repository().snapshot().view("served")


def test_markers_are_stocks_where_all_matter(stock: Stock) -> None:
    again = Stock(stock.path)  # read from disk, a date is a float
    expected = sorted(pushkey.list(again.filtered("served"), b"obsolete").items())
    assert served(stock).listkeys(b"obsolete") == expected
    assert [key for key, _ in expected] == [b"dump0"]


def test_markers_between_secret_changesets_arent_told(stock: Stock) -> None:
    before = served(stock).listkeys(b"obsolete")
    stock.rewrite([3], [4])
    assert served(stock).listkeys(b"obsolete") == before
    told = util.b85decode(dict(before)[b"dump0"])
    assert len(list(obsolete._readmarkers(told)[1])) == 1


def test_markers_arent_exchanged_unless_configured(stock: Stock) -> None:
    assert (b"obsolete", b"") in served(stock).listkeys(b"namespaces")
    plain = Stock(stock.path, {"experimental.evolution": "createmarkers"})
    assert served(plain).listkeys(b"obsolete") == []
    assert served(plain).listkeys(b"namespaces") == [
        (b"bookmarks", b""),
        (b"namespaces", b""),
        (b"phases", b""),
    ]
    assert dict(EVOLUTION) == stock.config


def test_a_hidden_draft_root_isnt_told(stock: Stock) -> None:
    stock.publish(2)
    stock.commit(2)
    listed = dict(served(stock).listkeys(b"phases"))
    hidden, draft = (stock.repo.changelog.node(rev).hex().encode() for rev in (1, 5))
    assert listed == {draft: b"1", b"publishing": b"True"}
    assert hidden in pushkey.list(stock.filtered("served"), b"phases")
