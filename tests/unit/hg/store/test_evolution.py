from __future__ import annotations

import itertools

import pytest
from mercurial import obsolete, ui

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.store.evolution import is_exchange_enabled

CHOICES = [None, "yes", "no"]
GENERAL = [None, "yes", "no", "all", "createmarkers", "exchange", "createmarkers, exchange"]


@pytest.mark.parametrize(
    ("general", "create", "exchange"), list(itertools.product(GENERAL, CHOICES, CHOICES))
)
def test_exchange_is_on_where_stock_has_it_on(
    general: str | None, create: str | None, exchange: str | None
) -> None:
    given = {
        "evolution": general,
        "evolution.createmarkers": create,
        "evolution.exchange": exchange,
    }
    values = {name: value for name, value in given.items() if value is not None}
    config = HgConfig({("experimental", name): value for name, value in values.items()})

    class Repo:  # all that Mercurial's function looks at
        ui = ui.ui()

    for name, value in values.items():
        Repo.ui.setconfig(b"experimental", name.encode(), value.encode())
    expected = obsolete.isenabled(Repo, obsolete.exchangeopt)
    assert is_exchange_enabled(config) is bool(expected)
