"""Which replies come from the spool, and how a request gets hold of its file."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import OrderedDict
from contextlib import ExitStack
from functools import partial

from trunkline.config.spool import Spool
from trunkline.errors import ClientGone, PeerError, StoreError
from trunkline.http.body import RequestBody
from trunkline.http.follow import Followed, Following
from trunkline.http.remake import MAKER
from trunkline.http.threads import Threads
from trunkline.reply import Body, Order, Recipe, Stream
from trunkline.spool.desk import Desk
from trunkline.spool.order import Outcome, Terms
from trunkline.spool.place import Place, default_folder, open_place
from trunkline.spool.reading import Look, Reading, open_reading
from trunkline.spool.room import Limits
from trunkline.spool.trouble import Trouble

TRIES = 3  # builders that die before the first byte, until the reply is streamed
THREADS = 4  # they only look and read
HELD_SECONDS = 1.0  # a file stays open for those who come together
BROKEN_SECONDS = 600.0  # a reply whose build broke off is streamed, lest each try cuts its readers
NAMES_LIMIT = 1000  # that are remembered, of each kind


def spool_terms(settings: Spool) -> Terms:
    return Terms(
        folder=settings.path or default_folder(os.environ),
        maker=MAKER,
        builders=settings.builders or os.cpu_count() or 1,
        queue=settings.queue,
        limits=Limits(settings.bytes, settings.free_bytes, settings.age_seconds),
    )


class Spooled:
    """One for each worker; made, and asked, in the loop that uses it."""

    def __init__(self, settings: Spool) -> None:
        self._settings = settings
        self._terms = spool_terms(settings)
        self._desk = Desk(self._terms)
        self._threads = Threads(THREADS, "spool")
        self._trouble = Trouble()
        self._place: Place | None = None
        self._files: dict[str, Followed[Reading]] = {}
        self._opening: dict[str, asyncio.Task[Followed[Reading] | None]] = {}
        self._large = Names()  # of replies that turned out to be so
        self._asked = Names()  # once, of cheap ones
        self._broken = Names()  # of which a part was sent, until the disk was full or the like

    def takes(self, stream: Stream) -> bool:
        """Whether it is worth the question."""
        recipe = stream.recipe
        if recipe is None or not self._settings.bytes:
            return False
        return self._is_large(recipe) or not self._large.is_empty

    def _is_large(self, recipe: Recipe) -> bool:
        return recipe.size >= self._settings.smallest_bytes

    def learn(self, body: Body, sent: int) -> None:
        """A reply that was streamed: was it larger than estimated?"""
        recipe = body.recipe if isinstance(body, Stream) else None
        if recipe is None or self._is_large(recipe) or sent < self._settings.smallest_bytes:
            return
        self._threads.run(recipe.write).add_done_callback(self._note_large)

    def _note_large(self, written: asyncio.Future[Order]) -> None:
        if written.exception() is None:
            self._large.add(written.result().name)

    async def begin(self, stream: Stream, body: RequestBody) -> Following | None:
        """None: stream it. Raises: ClientGone; PeerError when too many builds wait; StoreError."""
        assert stream.recipe is not None
        first = asyncio.ensure_future(self._first(stream.recipe))
        try:
            await asyncio.wait((first, body.gone), return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                raise ClientGone("the client went away")
            file = first.result()
        except BaseException:
            first.add_done_callback(give_back)
            first.cancel()
            raise
        return None if file is None else Following(file, headers_of(file.look, file.reading))

    async def _first(self, recipe: Recipe) -> Followed[Reading] | None:
        """A file whose first bytes are there. Raises: as `begin`."""
        order = await self._threads.run(recipe.write)
        if not self._is_large(recipe) and order.name not in self._large:
            return None
        if self._broke_off(order.name):
            return None
        may_make = not recipe.is_cheap or order.name in self._asked
        self._asked.add(order.name)
        dead = 0
        with ExitStack() as dead_files:  # open until we are done, so that no other gets their inode
            for _ in range(TRIES):
                file = await self._open(order, dead, may_make)
                if file is None:
                    return None
                look = await first_look(file)
                if not is_broken(look):
                    return file
                dead_files.callback(file.release)
                if not look.is_dead:
                    return None
                dead = file.reading.inode
        return None

    def _broke_off(self, name: str) -> bool:
        file = self._files.get(name)
        if file is not None:
            self._note_broken(name, file)
        return self._broken.age(name) < BROKEN_SECONDS

    def _note_broken(self, name: str, file: Followed[Reading]) -> None:
        """A builder that was killed is another matter: the next one may live."""
        look = file.look
        if look.size and is_broken(look) and not look.is_dead:
            self._broken.add(name)

    async def _open(self, order: Order, dead: int, may_make: bool) -> Followed[Reading] | None:
        """Handed out: to be released. Raises: PeerError."""
        file = self._files.get(order.name)
        if file is None or is_broken(file.look) or file.reading.inode == dead:
            opening = self._opening.get(order.name)
            if opening is None:
                opening = asyncio.ensure_future(self._open_anew(order, dead, may_make))
                self._opening[order.name] = opening
                opening.add_done_callback(partial(self._opened, order.name))
            file = await asyncio.shield(opening)
            if file is None:
                return None
        file.readers += 1
        self._threads.run(file.reading.count)
        return file

    def _opened(self, name: str, opening: asyncio.Task[Followed[Reading] | None]) -> None:
        del self._opening[name]
        if not opening.cancelled():
            opening.exception()  # told to those who wait, if anybody still does

    async def _open_anew(self, order: Order, dead: int, may_make: bool) -> Followed[Reading] | None:
        reading = await self._threads.run(self._find, order, dead, may_make)
        if reading is None:
            return None
        file = Followed(reading, self._threads, lambda: self._closed(order.name, file))
        file.readers = 1
        asyncio.get_running_loop().call_later(HELD_SECONDS, file.release)
        self._files[order.name] = file
        return file

    def _closed(self, name: str, file: Followed[Reading]) -> None:
        self._note_broken(name, file)
        if self._files.get(name) is file:
            del self._files[name]

    def _find(self, order: Order, dead: int, may_make: bool) -> Reading | None:
        """In a thread: what is there, else what a builder begins. None: stream it.

        Raises: PeerError.
        """
        if self._trouble.is_recent():
            return None
        try:
            self._place = place = self._place or open_place(self._terms.folder)
            for _ in range(TRIES):
                reading = open_reading(place, order.name)
                if reading is not None and reading.inode != dead:
                    return reading
                if reading is not None:
                    reading.close()
                if not may_make:
                    return None
                outcome = self._desk.call(order, dead)
                if outcome is Outcome.BUSY:
                    raise PeerError("too many clones are waiting to be made: try again", status=503)
                if outcome is Outcome.TROUBLE:
                    break
                self._trouble.forget()
        except StoreError as error:
            self._trouble.tell(error.text)
        except OSError as error:
            self._trouble.tell(f"{self._terms.folder}: {error.strerror}")
        self._place = None
        return None

    def close(self) -> None:
        self._threads.close()
        self._desk.close()


class Names:
    """The last so many."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, float] = OrderedDict()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    @property
    def is_empty(self) -> bool:
        return not self._names

    def age(self, name: str) -> float:
        """Seconds since it was added; infinite when it wasn't."""
        return time.monotonic() - self._names.get(name, -math.inf)

    def add(self, name: str) -> None:
        self._names[name] = time.monotonic()
        if len(self._names) > NAMES_LIMIT:
            self._names.popitem(last=False)


async def first_look(file: Followed[Reading]) -> Look:
    """With the first bytes, or the end."""
    try:
        await file.refresh()
        return await file.beyond(0)
    except BaseException:
        file.release()
        raise


def give_back(first: asyncio.Future[Followed[Reading] | None]) -> None:
    """Of who didn't wait for it."""
    if not first.cancelled() and first.exception() is None:
        file = first.result()
        if file is not None:
            file.release()


def is_broken(look: Look) -> bool:
    return look.is_over and not look.is_whole


def headers_of(look: Look, reading: Reading) -> list[tuple[bytes, bytes]]:
    """One that is still made has no length yet."""
    if not look.is_whole:
        return []
    return [(b"content-length", b"%d" % look.size), (b"etag", reading.etag)]
