"""What Mercurial's own configuration says about one repository, as a value.

How it is read (through the installed `hg`) is not known here. Source of the value forms:
hg 7.2.4, mercurial/config.py and ui.py (booleans, integers, lists with quotes).
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field

from trunkline.errors import SettingsError

BOOLEANS = {
    **dict.fromkeys(("1", "yes", "true", "on", "always"), True),
    **dict.fromkeys(("0", "no", "false", "off", "never"), False),
}

Values = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class HgConfig:
    """(section, name) -> text. `trusted` is what Mercurial lets steer the program; `untrusted` is
    that and what stands in files of other owners, good only for words shown to people (web.name).
    `places` has FILE:LINE of values that may be wrong.

    Text is decoded with surrogateescape, so no byte of a file is lost.
    """

    trusted: Values = field(default_factory=dict)
    untrusted: Values = field(default_factory=dict)
    places: Values = field(default_factory=dict, compare=False)

    def get(self, section: str, name: str, untrusted: builtins.bool = False) -> str | None:
        values = self.untrusted if untrusted else self.trusted
        return values.get((section, name))

    def text(
        self, section: str, name: str, default: str = "", untrusted: builtins.bool = False
    ) -> str:
        value = self.get(section, name, untrusted)
        return default if value is None else value

    def bool(
        self,
        section: str,
        name: str,
        default: builtins.bool = False,
        untrusted: builtins.bool = False,
    ) -> builtins.bool:
        value = self.get(section, name, untrusted)
        if value is None or value == "":
            return default
        try:
            return BOOLEANS[value.lower()]
        except KeyError:
            raise SettingsError(f"{section}.{name}: not a boolean: {value!r} (yes or no)") from None

    def int(
        self, section: str, name: str, default: builtins.int, untrusted: builtins.bool = False
    ) -> builtins.int:
        value = self.get(section, name, untrusted)
        if value is None or value == "":
            return default
        try:
            return int(value)
        except ValueError:
            raise SettingsError(f"{section}.{name}: not a whole number: {value!r}") from None

    def list(
        self,
        section: str,
        name: str,
        default: tuple[str, ...] = (),
        untrusted: builtins.bool = False,
    ) -> tuple[str, ...]:
        """Items parted by commas or white space; double quotes keep an item together."""
        value = self.get(section, name, untrusted)
        return default if value is None else split_list(value)

    def items(self, section: str, untrusted: builtins.bool = False) -> dict[str, str]:
        values = self.untrusted if untrusted else self.trusted
        return {name: value for (where, name), value in values.items() if where == section}


def split_list(value: str) -> tuple[str, ...]:
    items: list[str] = []
    item, is_quoted = "", False
    previous = ""
    for char in value:
        if char == '"' and previous != "\\" and (is_quoted or not item):
            is_quoted = not is_quoted
        elif not is_quoted and (char == "," or char.isspace()):
            if item:
                items.append(item)
            item = ""
        else:
            item += char
        previous = char
    if item:
        items.append(item)
    return tuple(items)
