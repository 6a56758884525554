"""How long we wait for a store that somebody is writing to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

PATIENCE: Final = 2.0  # seconds until a store that keeps moving is given up
FIRST_PAUSE: Final = 0.001  # seconds; each next one is twice as long
LONGEST_PAUSE: Final = 0.1  # seconds


def pauses() -> Iterator[float]:
    """Seconds to wait between attempts: PATIENCE in all."""
    deadline = time.monotonic() + PATIENCE
    pause = FIRST_PAUSE
    while time.monotonic() < deadline:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE)
