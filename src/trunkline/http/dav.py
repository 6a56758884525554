"""Requests for Subversion repositories: their bodies, threads and answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from trunkline.config.settings import Settings
from trunkline.errors import ClientGone
from trunkline.hg.wire.answer import Answer
from trunkline.http.blocks import Pieces
from trunkline.http.body import RequestBody
from trunkline.http.errand import Errand
from trunkline.http.failure import explain_to_svn
from trunkline.http.made import Made, close_quietly
from trunkline.http.send import Begun
from trunkline.http.subversion import Admitted, SvnDoor
from trunkline.http.threads import Threads
from trunkline.http.visit import Visit, describe
from trunkline.reply import Bytes, Stream
from trunkline.svn.dav.request import Answer as SvnAnswer

SHORT_BODY = 256 * 1024  # bytes, taken before a thread is asked
SHORT_POST = 32 * 1024  # the same of a commit stream, which may take long to come and to work on
FIRST_SECONDS = 0.001  # `svn` works on what has come while the rest is made


class Dav:
    """For one event loop. `long` are the threads for bodies that are taken while they come."""

    def __init__(self, settings: Settings, door: SvnDoor, threads: Threads, long: Threads) -> None:
        self._settings = settings
        self._door = door
        self._threads = threads
        self._long = long

    async def make(self, errand: Errand, body: RequestBody, guest: str) -> Made | None:
        """None: as `SvnDoor.admit`. Raises: NotThere, ClientGone."""
        lane, visit = self._threads.lane(guest), errand.visit
        # What is short is here before anybody could be refused; a commit stream is admitted first.
        is_step = visit.is_svn and visit.method != "POST"
        begun = await body.begin(SHORT_BODY) if is_step else None
        if begun is not None and body.is_complete:  # one turn in a thread instead of two
            found = await lane.run(self._admit_and_work, errand, [begun])
            return found and replace(found, lane=lane)
        admitted = await lane.run(self._door.admit, errand)
        if admitted is None:
            return None
        if begun is None:
            begun = await body.begin(SHORT_POST if visit.method == "POST" else SHORT_BODY)
        if body.is_complete:
            made = await lane.run(self._work, admitted, visit, [begun])
            return replace(made, lane=lane)
        subversion = self._settings.subversion
        limit = subversion.commit_bytes if visit.method == "POST" else subversion.body_bytes
        blocks = chain([begun], body.blocks(limit))
        made = await self._long.run_for(guest, self._work, admitted, visit, blocks)
        if body.is_gone:
            raise ClientGone("the client went away")
        await body.drain(self._settings.limits.refused_push_bytes)
        return replace(made, lane=lane)

    def _admit_and_work(self, errand: Errand, blocks: Iterable[bytes]) -> Made | None:
        admitted = self._door.admit(errand)
        return None if admitted is None else self._work(admitted, errand.visit, blocks)

    def _work(self, admitted: Admitted, visit: Visit, blocks: Iterable[bytes]) -> Made:
        """In a thread: the answer, and of a stream the first piece."""
        answer = converted(self._door.answer(admitted, visit, blocks))
        if isinstance(answer.body, Bytes):
            return Made(answer)
        assert isinstance(answer.body, Stream)
        pieces = Pieces(answer.body.blocks, patience=FIRST_SECONDS)
        try:
            if visit.method == "HEAD":
                pieces.close()
                return Made(answer)
            return Made(answer, Begun(pieces, pieces.pull()))
        except Exception as error:
            close_quietly(pieces)
            return Made(converted(explain_to_svn(error, describe(visit))))


def converted(answer: SvnAnswer) -> Answer:
    return Answer(answer.status, answer.headers, answer.body)
