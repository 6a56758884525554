"""Where the bundles lie."""

from __future__ import annotations

import os

from trunkline.config.settings import Settings
from trunkline.spool.place import default_folder


def bundles_folder(settings: Settings) -> str:
    """Near the spool, unless it is set."""
    if settings.bundles.path:
        path = settings.bundles.path
    elif settings.spool.path:
        path = f"{settings.spool.path.rstrip('/')}-bundles"
    else:
        path = default_folder(os.environ, "bundles")
    return os.path.abspath(path)
