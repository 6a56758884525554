"""What to write instead: words for a settings file that can't be read, and for misspelt names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from trunkline.config.mercurial import parse_override

OUR_SECTIONS = ("web", "server", "trunkline")  # of Mercurial's configuration, that we read
NEAR_ENOUGH = 0.66  # of difflib: two letters of three, swapped
FOREIGN_SECTIONS = frozenset({"ui", "serve"})  # Mercurial's or an extension's own, near to ours

# As msgspec words them.
_WHERE = re.compile(r" - at `\$\.?(.*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_NO_WORD = re.compile(r"Invalid enum value (.*)")


def explain(text: str, root: type[Struct]) -> str:
    """`text` is msgspec's, about a file that should hold a `root`."""
    where = found.group(1) if (found := _WHERE.search(text)) else ""
    words = _WHERE.sub("", text)
    if unknown := _UNKNOWN.fullmatch(words):
        return unknown_field(where, unknown.group(1), root)
    kind, unit = declared(where, root)
    if no_word := _NO_WORD.fullmatch(words):
        return f"{where}: {no_word.group(1)} is none of {', '.join(map(repr, choices(kind)))}"
    if unit == "octal":
        words += ", in octal, such as 0o660"
    return f"{where}: {words}" if where else words


def unknown_field(where: str, name: str, root: type[Struct]) -> str:
    full = f"{where}.{name}" if where else name
    struct = declared(where, root)[0]
    here = fields_of(struct if is_struct(struct) else root)
    places = {field: f"{where}.{field}" if where else field for field in here}
    if near := get_close_matches(name, places, 1):
        return f"{full}: no such field; did you mean {places[near[0]]}?"
    for section, kind in fields_of(root).items():
        if is_struct(kind) and name in fields_of(kind):
            return f"{full}: no such field; {name} stands in [{section}]"
    return f"{full}: no such field; there are {', '.join(places.values())}"


def declared(where: str, root: type[Struct]) -> tuple[Any, str]:
    """Type and unit of the field at this dotted path; (None, "") for what is no field."""
    kind: Any = root
    unit = ""
    for name in filter(None, where.split(".")):
        if not is_struct(kind) or name not in fields_of(kind):
            return None, ""
        hint = get_type_hints(kind, include_extras=True)[name]
        unit = next(
            ((meta.extra or {}).get("unit", "") for meta in getattr(hint, "__metadata__", ())), ""
        )
        kind = fields_of(kind)[name]
    return kind, unit


def fields_of(struct: type[Struct]) -> dict[str, Any]:
    hints = get_type_hints(struct)
    return {field.name: hints[field.name] for field in msgspec.structs.fields(struct)}


def is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def choices(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def doubtful_sections(overrides: Iterable[str]) -> list[str]:
    """A line for each of `--config` whose section is nearly one of ours. Mercurial takes any name,
    and so a misspelt rule would hold for nothing."""
    lines = []
    for text in overrides:
        section, name, _ = parse_override(text)
        if section in OUR_SECTIONS or section in FOREIGN_SECTIONS:
            continue
        if near := get_close_matches(section, OUR_SECTIONS, 1, NEAR_ENOUGH):
            lines.append(
                f"--config {section}.{name}: nothing reads a section [{section}]; "
                f"did you mean {near[0]}.{name}?"
            )
    return lines
