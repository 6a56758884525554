from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hg.store.stock import Stock, random_repository
from tests.unit.hg.wire.stockweb import served

from trunkline.hg.wire.served import Served


@pytest.fixture(scope="session", params=range(4))
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stock:
    """A random repository with everything that hides or names changesets. Don't write to it."""
    return random_repository(tmp_path_factory.mktemp("history") / "r", request.param)


@pytest.fixture(scope="session")
def ours(history: Stock) -> Served:
    return served(history)


@pytest.fixture
def plain(tmp_path: Path) -> Stock:
    """Three public changesets in a row."""
    stock = Stock(tmp_path / "plain")
    for parents in ((), (0,), (1,)):
        stock.commit(*parents)
    stock.publish(2)
    return stock
