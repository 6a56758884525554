"""What a repository's configuration lets obsolescence do.

Source: hg 7.2.4, mercurial/obsolete.py (getoptions).
"""

from __future__ import annotations

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import SettingsError

SECTION = "experimental"


def is_exchange_enabled(config: HgConfig) -> bool:
    """Are markers given to peers? They aren't where none may be made."""
    return _option(config, "createmarkers") and _option(config, "exchange")


def _option(config: HgConfig, name: str) -> bool:
    """`evolution.NAME` where it is set, else `evolution`: a boolean, or a list of options."""
    if config.get(SECTION, f"evolution.{name}"):
        return config.bool(SECTION, f"evolution.{name}")
    try:
        return config.bool(SECTION, "evolution")
    except SettingsError:
        pass
    options = set(config.list(SECTION, "evolution"))
    if config.get(SECTION, "evolution.createmarkers"):
        options.add("createmarkers")
    return "all" in options or name in options
