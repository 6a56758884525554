"""What is hidden, and what keeps it visible; real Mercurial beside it: test_view."""

from __future__ import annotations

from pathlib import Path

import pytest
from mercurial import phases
from tests.unit.hg.store.stock import Stock

from trunkline.errors import SettingsError
from trunkline.hg.store.view import View


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    """0 public; 1 - 2 - 3 above it, 4 beside 1."""
    stock = Stock(tmp_path / "repo")
    for parents in ((), (0,), (1,), (2,), (0,)):
        stock.commit(*parents)
    stock.publish(0)
    return stock


def filtered(stock: Stock, name: str | None = "served") -> set[int]:
    return set(View(stock.repository().snapshot(), name).filtered)


def test_nothing_is_filtered_where_nothing_hides(stock: Stock) -> None:
    assert filtered(stock) == set()
    assert filtered(stock, "immutable") == filtered(stock, "base") == {1, 2, 3, 4}


def test_a_rewritten_tip_is_hidden(stock: Stock) -> None:
    stock.rewrite([3], [4])
    assert filtered(stock) == filtered(stock, "visible") == {3}
    assert filtered(stock, "served.hidden") == filtered(stock, None) == set()


def test_an_obsolete_ancestor_of_a_visible_changeset_stays(stock: Stock) -> None:
    stock.rewrite([1], [4])
    assert filtered(stock) == set()


def test_a_bookmark_keeps_it_and_its_ancestors(stock: Stock) -> None:
    for rev in (1, 2, 3):
        stock.rewrite([rev], [4])
    assert filtered(stock) == {1, 2, 3}
    stock.bookmark(b"keep", 2)
    assert filtered(stock) == {3}


def test_a_working_copy_keeps_it(stock: Stock) -> None:
    stock.rewrite([3], [4])
    repository = stock.repository()
    assert set(repository.snapshot().view("served").filtered) == {3}
    stock.stand_on(3)
    assert set(repository.snapshot().view("served").filtered) == set()


def test_a_local_tag_keeps_it(stock: Stock) -> None:
    stock.rewrite([3], [4])
    stock.local_tag(b"keep", 3)
    assert filtered(stock) == set()


def test_a_secret_changeset_is_kept_back_though_it_is_pinned(stock: Stock) -> None:
    stock.retract(phases.secret, 2)
    stock.bookmark(b"keep", 3)
    assert filtered(stock) == filtered(stock, "served.hidden") == {2, 3}
    assert filtered(stock, "visible") == set()


@pytest.mark.parametrize("phase", [phases.internal, phases.archived])
def test_what_is_of_local_use_only_is_hidden_from_the_owner_too(stock: Stock, phase: int) -> None:
    stock.retract(phase, 3)
    assert filtered(stock) == filtered(stock, "visible") == {3}


def test_an_unknown_view_is_the_operators_fault(stock: Stock) -> None:
    with pytest.raises(SettingsError, match="'nonesuch'"):
        filtered(stock, "nonesuch")
