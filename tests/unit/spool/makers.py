"""What the builders of these tests make: blocks told by their number, as slowly as is asked."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from trunkline.errors import StoreError
from trunkline.reply import Order

MAKER = "tests.unit.spool.makers:make"


def order(
    name: str = "a1",
    count: int = 4,
    size: int = 100_000,
    pause: float = 0.0,
    end: str = "-",
    about: int | None = None,
    log: Path | str = "-",
) -> Order:
    """`end`: what happens after the last block. `log`: each builder writes its process id there."""
    about = count * size if about is None else about
    return Order(name, about, f"{count} {size} {pause} {end} {log}".encode())


def make(asked: Order) -> Iterator[bytes]:
    count, size, pause, end, log = asked.job.decode().split(" ", 4)
    if log != "-":
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
    for number in range(int(count)):
        yield block(number, int(size))
        time.sleep(float(pause))
    if end == "fails":
        raise StoreError("no more of it")
    if end == "dies":
        os._exit(9)


def block(number: int, size: int) -> bytes:
    return (b"%08d" % number * (size // 8 + 1))[:size]


def expected(asked: Order) -> bytes:
    count, size = map(int, asked.job.split()[:2])
    return b"".join(block(number, size) for number in range(count))
