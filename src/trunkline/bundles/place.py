"""Where the bundles lie."""

from __future__ import annotations

import os

from trunkline.config.settings import Settings
from trunkline.spool.place import default_folder


def bundles_folder(settings: Settings) -> str:
    """Beside the spool, unless it is set."""
    if settings.bundles.path:
        return os.path.realpath(settings.bundles.path)
    spool = settings.spool.path or default_folder(os.environ)
    return f"{os.path.dirname(os.path.realpath(spool))}/bundles"
