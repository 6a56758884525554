"""What threads load together."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from trunkline.svn.repository.library import once


def test_many_at_once_get_the_same() -> None:
    def make() -> object:
        time.sleep(0.05)
        return object()

    get = once(make)
    with ThreadPoolExecutor(8) as pool:
        assert len({id(job.result()) for job in [pool.submit(get) for _ in range(8)]}) == 1
