"""What a spool file is at this moment. Its own mode says so: it and the size come by one `fstat`,
also of a file that is deleted, and no reader can see the one without the other.
"""

from __future__ import annotations

import os
import stat
from enum import IntEnum


class Stage(IntEnum):
    """The values are the file's permissions."""

    GROWING = 0o600
    WHOLE = 0o400
    FAILED = 0o200


def stage_of(found: os.stat_result) -> Stage:
    """Anything strange is a failure."""
    try:
        return Stage(stat.S_IMODE(found.st_mode))
    except ValueError:
        return Stage.FAILED


def set_stage(descriptor: int, stage: Stage) -> None:
    """Raises: OSError."""
    os.fchmod(descriptor, stage)
