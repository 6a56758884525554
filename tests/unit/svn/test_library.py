"""libsvn's handles: what threads that begin at once share."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from trunkline.svn.repository.library import callback, once

THREADS = 8


def test_threads_that_ask_at_once_get_one_thing() -> None:
    """A second C function would be freed while libsvn still calls it."""
    together = Barrier(THREADS)

    @once
    def make() -> object:
        time.sleep(0.01)  # others come in
        return object()

    @callback("svn_error_t *(void *, apr_pool_t *)")
    def close(_baton: object, _pool: object) -> None: ...

    def ask(_: int) -> tuple[int, int]:
        together.wait()
        return id(make()), id(close())

    with ThreadPoolExecutor(THREADS) as pool:
        assert len(set(pool.map(ask, range(THREADS)))) == 1
