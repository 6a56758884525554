"""What a repository's configuration lets obsolescence do.

Source: hg 7.2.4, mercurial/obsolete.py (getoptions).
"""

from __future__ import annotations

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import SettingsError

SECTION = "experimental"


def is_exchange_enabled(config: HgConfig) -> bool:
    """Are markers given to peers? They aren't where none may be made."""
    return is_allowed(config, "createmarkers") and is_allowed(config, "exchange")


def is_allowed(config: HgConfig, option: str) -> bool:
    """By the option's own setting `evolution.OPTION`, else by what `evolution` says of all."""
    own = f"evolution.{option}"
    if config.get(SECTION, own):
        return config.bool(SECTION, own)
    try:
        return config.bool(SECTION, "evolution")
    except SettingsError:  # it is a list
        return is_listed(config, option)


def is_listed(config: HgConfig, option: str) -> bool:
    """A list allows what it names, or `all`; a set `evolution.createmarkers` counts as named."""
    words = config.list(SECTION, "evolution")
    is_named = option == "createmarkers" and bool(config.get(SECTION, "evolution.createmarkers"))
    return is_named or option in words or "all" in words
