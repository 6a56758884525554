"""Trouble with the spool's folder: said once, and not run into with each request."""

from __future__ import annotations

import logging
import time

log = logging.getLogger("trunkline.spool")

PAUSE_SECONDS = 10.0


class Trouble:
    """One line in the log for as long as it stays the same; and no try for a while."""

    def __init__(self) -> None:
        self._text = ""
        self._until = 0.0

    def tell(self, text: str) -> None:
        self._until = time.monotonic() + PAUSE_SECONDS
        if text != self._text:
            self._text = text
            log.warning("replies are made anew for each reader: %s", text)

    def is_recent(self) -> bool:
        return time.monotonic() < self._until

    def forget(self) -> None:
        self._text = ""
