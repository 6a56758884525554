"""A process that makes one file: forked by a nursery, and gone when it is done."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

from trunkline.errors import StoreError, TrunklineError
from trunkline.reply import Order
from trunkline.spool.lease import RENEW_SECONDS
from trunkline.spool.place import Place
from trunkline.spool.room import Limits, make_room
from trunkline.spool.uses import Audience
from trunkline.spool.writer import Writer

log = logging.getLogger(__name__)

Make = Callable[[Order], Iterator[bytes]]

# Exit statuses. From DISK on, it is DISK and an errno of the disk's.
DONE, FAILED, NOT_WANTED, NO_ROOM, DISK = 0, 1, 2, 3, 100
# Of its estimated size: from NEARLY on it is finished, whoever left; past WRONG, the estimate was
# wrong, and nobody knows how much is to come.
NEARLY, WRONG = 0.8, 1.25
LOOK_SECONDS = 0.5
ROOM_STEP = 64 * 1024 * 1024  # bytes; after each, is there still room?


class NotSame(TrunklineError):
    """What the order would make now has another name: the repository has moved on."""


class NoRoom(Exception):
    """The spool's limits leave none."""


def build(place: Place, order: Order, writer: Writer, limits: Limits, make: Make) -> int:
    """The exit status. What it says when it fails is the log's."""
    threading.Thread(target=attend, args=(writer, place, order), daemon=True).start()
    try:
        if not make_room(place, limits, order.size):
            raise NoRoom
        fill(writer, place, limits, make(order))
        writer.finish()
    except NoRoom:
        status = NO_ROOM
    except OSError as error:  # the store's own are StoreErrors
        status = DISK + min(error.errno or 0, 150)
    except NotSame:
        status = FAILED
    except StoreError as error:
        log.error("a build for the spool: %s", error.text)
        status = FAILED
    except Exception as error:
        log.error("a build for the spool: %s", type(error).__name__, exc_info=error)
        status = FAILED
    else:
        return DONE
    writer.fail()
    return status


def fill(writer: Writer, place: Place, limits: Limits, blocks: Iterator[bytes]) -> None:
    """Raises: NoRoom, OSError, what the blocks raise."""
    checked = 0
    for block in blocks:
        writer.write(block)
        if writer.size - checked >= ROOM_STEP:
            checked = writer.size
            if not make_room(place, limits):
                raise NoRoom


def attend(writer: Writer, place: Place, order: Order) -> None:
    """In a thread: show that we live, and end when nobody waits for it."""
    audience = Audience(place, order.name)
    renewed = time.monotonic()
    while True:
        time.sleep(LOOK_SECONDS)
        if time.monotonic() - renewed >= RENEW_SECONDS:
            renewed = time.monotonic()
            writer.renew()
        if audience.is_gone() and not is_nearly_done(writer.size, order.size) and writer.fail():
            os._exit(NOT_WANTED)


def is_nearly_done(size: int, estimate: int) -> bool:
    return NEARLY * estimate <= size <= WRONG * estimate
