"""The engines that are installed, and those that one repository's configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from trunkline.compression.engine import ENTRY_POINT_GROUP, WIRE_NAME_LIMIT, Engine
from trunkline.config.hgconfig import HgConfig
from trunkline.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Chosen:
    """An engine with the level that the configuration gives it."""

    engine: Engine
    level: int | None


@cache
def installed() -> Mapping[str, Engine]:
    """Every usable engine by name, read once in a process.

    A distribution whose engine can't be loaded takes no other engine down; it is missing here,
    and naming it in `server.compressionengines` says so.
    """
    engines: dict[str, Engine] = {}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        engine = load(entry)
        if engine is None or not engine.is_available():
            continue
        if entry.name in engines:
            raise SettingsError(f"two compression engines are named {entry.name}")
        engines[entry.name] = engine
    return engines


def load(entry: EntryPoint) -> Engine | None:
    try:
        found = entry.load()
    except Exception:  # somebody else's module: anything may happen in it
        return None
    engine = found() if isinstance(found, type) and issubclass(found, Engine) else None
    if engine is None or engine.name != entry.name:
        raise SettingsError(
            f"entry point {entry.name} of group {ENTRY_POINT_GROUP} is no engine of that name"
        )
    if not 0 < len(engine.wire_name) <= WIRE_NAME_LIMIT:
        raise SettingsError(f"compression engine {engine.name}: wire name of 1 to 255 bytes needed")
    return engine


def engines_for(config: HgConfig) -> tuple[Chosen, ...]:
    """In the order of preference; `server.compressionengines` replaces the list wholesale.

    Raises: SettingsError for an unknown engine or a level that it doesn't take.
    """
    engines = installed()
    names = config.list("server", "compressionengines") or default_names(engines)
    unknown = sorted(set(names) - set(engines))
    if unknown:
        raise SettingsError(
            f"invalid compression engine defined in server.compressionengines: "
            f"{', '.join(unknown)} (usable: {', '.join(sorted(engines))})"
        )
    return tuple(choose(engines[name], config) for name in dict.fromkeys(names))


def default_names(engines: Mapping[str, Engine]) -> tuple[str, ...]:
    wanted = [engine for engine in engines.values() if engine.priority > 0]
    wanted.sort(key=lambda engine: (-engine.priority, engine.wire_name))
    return tuple(engine.name for engine in wanted)


def choose(engine: Engine, config: HgConfig) -> Chosen:
    setting = f"{engine.name}level"
    if engine.default_level is None or not config.get("server", setting):
        return Chosen(engine, engine.default_level)
    return Chosen(engine, engine.check_level(config.int("server", setting, engine.default_level)))
