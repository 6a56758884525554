from __future__ import annotations

import pytest
from tests.unit.hg.store.stock import Stock
from tests.unit.hg.wire.stockweb import ask, served

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import SettingsError, StoreError
from trunkline.hg.stock.bridge import Bridge, close_shared_pool
from trunkline.hg.wire.served import Served


def open_served(stock: Stock, config: HgConfig | None = None) -> Served:
    path = str(stock.path)
    return Served.open(path, HgConfig() if config is None else config, Bridge(path))


def test_plain_repository_is_read_by_us(plain: Stock) -> None:
    where = open_served(plain)
    assert where.reason is None
    assert where.snapshot() is not None


def test_hook_that_watches_readers_takes_the_bridge(plain: Stock) -> None:
    hooks = {("hooks", "outgoing"): "true"}
    where = open_served(plain, HgConfig(hooks, hooks))
    assert where.reason is not None
    assert "outgoing" in where.reason


def test_format_that_is_not_ours_takes_the_bridge(plain: Stock) -> None:
    with (plain.path / ".hg/store/requires").open("a") as file:
        file.write("from-the-future\n")
    where = open_served(plain)
    assert where.reason is not None
    assert "from-the-future" in where.reason


def test_no_repository_is_our_fault(plain: Stock) -> None:
    with pytest.raises(StoreError):
        Served.open(str(plain.path / "none"), HgConfig(), Bridge(str(plain.path)))


def test_repository_that_changes_its_format_goes_over_to_the_bridge(plain: Stock) -> None:
    """With `debugupgraderepo`, say: asked again, not remembered."""
    where = open_served(plain)
    heads = ask(where, b"cmd=heads")
    requires = plain.path / ".hg/store/requires"
    before = requires.read_text()
    requires.write_text(before + "treemanifest\n")
    try:
        assert where.snapshot() is None
        assert ask(where, b"cmd=lookup&key=tip").body == b"1 " + heads.body
        requires.write_text(before)
        assert where.snapshot() is not None
        assert ask(where, b"cmd=heads") == heads
    finally:
        close_shared_pool()


def test_kept_value_is_made_once_for_each_owner(plain: Stock) -> None:
    where = served(plain)
    one, two = object(), object()
    assert where.keep("x", one, lambda: "first") == "first"
    assert where.keep("x", one, lambda: "again") == "first"
    assert where.keep("y", one, lambda: "other") == "other"
    assert where.keep("x", two, lambda: "second") == "second"


def test_engine_that_is_not_there_is_said_when_asked(plain: Stock) -> None:
    with pytest.raises(SettingsError, match="rot13"):
        _ = served(plain, compressionengines="rot13").engines
