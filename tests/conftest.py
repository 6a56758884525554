"""What holds for a whole run."""

from __future__ import annotations

import gc

from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a machine may be busy
settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    """Thousands of tests live until the end: no full collection has to walk through them."""
    gc.collect()
    gc.freeze()
