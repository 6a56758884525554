"""`python -m trunkline.spool.nursery`: a warm process that claims files and forks their builders.

It has no threads and has imported what builders need, so a fork costs milliseconds. It ends when
the worker that started it does; its builders go on while somebody reads.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import select
import signal
import sys
import time
from collections import deque
from typing import NamedTuple

from trunkline.errors import StoreError
from trunkline.reply import Order
from trunkline.spool.builder import DISK, DONE, NO_ROOM, Make, build
from trunkline.spool.claim import claim
from trunkline.spool.order import READ_SIZE, Call, Frames, Outcome, Terms, format_frame
from trunkline.spool.place import Place, open_place
from trunkline.spool.slots import Slots
from trunkline.spool.trouble import Trouble
from trunkline.spool.uses import Audience
from trunkline.spool.writer import Writer

QUEUE_SECONDS = 0.05  # between looks for a slot
CHILD_SECONDS = 0.5  # between looks for children that ended


class Waiting(NamedTuple):
    place: Place
    order: Order
    descriptor: int
    writer: Writer
    audience: Audience


class Nursery:
    """Opens the folder when it is first needed, and again after trouble."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._make = load(terms.maker)
        self._place: Place | None = None
        self._waiting: deque[Waiting] = deque()
        self._children: dict[int, str] = {}
        self._trouble = Trouble()

    def run(self, source: int, target: int) -> None:
        """Until `source` ends."""
        frames = Frames()
        while True:
            if select.select([source], [], [], self._patience())[0]:
                data = os.read(source, READ_SIZE)
                if not data:
                    return
                for call in frames.feed(data):
                    os.write(target, format_frame(self.take(call)))
            self.reap()
            self.start()

    def _patience(self) -> float | None:
        if self._waiting:
            return QUEUE_SECONDS
        return CHILD_SECONDS if self._children else None

    def take(self, call: Call) -> Outcome:
        if self._trouble.is_recent():
            return Outcome.TROUBLE
        self.start()
        if len(self._waiting) >= self._terms.queue:
            return Outcome.BUSY
        try:
            return self._claim(call)
        except OSError as error:
            self._trouble.tell(f"{self._terms.folder}: {error.strerror}")
        except StoreError as error:
            self._trouble.tell(error.text)
        self._place = None
        return Outcome.TROUBLE

    def _claim(self, call: Call) -> Outcome:
        """Raises: OSError, StoreError."""
        place = self._place = self._place or open_place(self._terms.folder)
        name = call.order.name
        descriptor = claim(place, name, call.dead)
        if descriptor is None:
            return Outcome.TAKEN
        writer = Writer(place, name, descriptor)
        self._waiting.append(Waiting(place, call.order, descriptor, writer, Audience(place, name)))
        return Outcome.CLAIMED

    def start(self) -> None:
        """As many builders as there are slots; who lost all readers meanwhile needs none."""
        for waiting in list(self._waiting):
            if waiting.audience.is_gone():
                self._drop(waiting)
            else:
                waiting.writer.renew()
        while self._waiting:
            try:
                slot = Slots(self._waiting[0].place, self._terms.builders).take()
            except OSError as error:
                self._trouble.tell(f"{self._terms.folder}: {error.strerror}")
                self._drop(self._waiting[0])
                continue
            if slot is None:
                return
            waiting = self._waiting.popleft()
            try:
                self._fork(waiting)
            finally:
                os.close(slot)
                os.close(waiting.descriptor)

    def _drop(self, waiting: Waiting) -> None:
        self._waiting.remove(waiting)
        waiting.writer.fail()
        os.close(waiting.descriptor)

    def _fork(self, waiting: Waiting) -> None:
        """The child has the claim and the slot for as long as it lives."""
        pid = os.fork()
        if pid:
            self._children[pid] = waiting.order.name
            return
        status = 1
        try:
            for other in self._waiting:
                os.close(other.descriptor)
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1):
                os.dup2(nothing, number)
            place, order, _, writer, _ = waiting
            status = build(place, order, writer, self._terms.limits, self._make)
        finally:
            os._exit(status)

    def reap(self) -> None:
        while self._children:
            pid, state = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._children.pop(pid, None)
            status = os.waitstatus_to_exitcode(state)
            if status >= DISK:
                self._trouble.tell(f"{self._terms.folder}: {os.strerror(status - DISK)}")
            elif status == NO_ROOM:
                self._trouble.tell(f"{self._terms.folder}: no room within the limits of [spool]")
            elif status == DONE:
                self._trouble.forget()


def load(maker: str) -> Make:
    module, _, name = maker.partition(":")
    found: Make = getattr(importlib.import_module(module), name)
    return found


def main() -> None:
    # A stop of the whole service lets replies end, and so must we: the pipe tells when.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING,
        format="%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )
    logging.Formatter.converter = time.gmtime
    frames = Frames()
    found: list[Terms] = []
    while not found:
        data = os.read(0, 4096)
        if not data:
            return
        found = frames.feed(data)
    nursery = Nursery(found[0])
    gc.freeze()  # builders share our memory for longer
    os.write(1, format_frame(Outcome.CLAIMED))
    nursery.run(0, 1)


if __name__ == "__main__":
    main()
