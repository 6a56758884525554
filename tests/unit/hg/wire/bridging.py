"""A repository of `Stock` that goes through the bridge."""

from __future__ import annotations

from pathlib import Path

from tests.unit.hg.store.stock import Stock

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.wire.served import Served


def bridged(stock: Stock, **more: str) -> Served:
    """`more` is of [server], as in `stockweb.served`."""
    return bridged_by(stock.path, stock.config | {f"server.{n}": v for n, v in more.items()})


def bridged_by(path: Path, config: dict[str, str]) -> Served:
    """`config` by full names: what Mercurial is told, and we."""
    values = {(name.partition(".")[0], name.partition(".")[2]): v for name, v in config.items()}
    values[("trunkline", "native")] = "no"
    overrides = [f"{name}={value}" for name, value in config.items()]
    return Served.open(str(path), HgConfig(values, values), Bridge(str(path), overrides))
