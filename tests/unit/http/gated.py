"""The application's own builds, each of which waits at a gate before its first byte."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from trunkline.errors import StoreError
from trunkline.http.remake import remake
from trunkline.reply import Order

MAKER = f"{__name__}:make"
BREAKING = f"{__name__}:break_off"
GATE = "TRUNKLINE_TEST_GATE"  # in the environment: path of a file; the gate is open when it exists


def make(order: Order) -> Iterator[bytes]:
    while not os.path.exists(os.environ[GATE]):
        time.sleep(0.01)
    yield from remake(order)


def break_off(order: Order) -> Iterator[bytes]:
    """After the first block."""
    yield next(remake(order))
    time.sleep(0.5)  # so that it is sent
    raise StoreError("as on a full disk")
