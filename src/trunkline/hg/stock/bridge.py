"""A repository as the installed Mercurial serves it: what we don't read, and what is written.

Costs more than reading the store ourselves, and is never wrong: it is what `hg serve --stdio` runs.
Differs from hgweb in this: hooks run with HGPLAIN=1 and HGENCODING=utf-8.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence

from trunkline.errors import StoreError
from trunkline.hg.stock.caller import ANYONE, Caller
from trunkline.hg.stock.commands import Command
from trunkline.hg.stock.pool import Place, Pool
from trunkline.hg.stock.process import READ_SIZE, ProcessEnded
from trunkline.hg.stock.session import Session
from trunkline.hg.stock.stdio import (
    FINISH_SECONDS,
    PUSH_SECONDS,
    STREAM_SECONDS,
    StdioServer,
    explain,
)
from trunkline.reply import Bytes, Stream
from trunkline.work import Work

log = logging.getLogger(__name__)

BLOCK_SIZE = READ_SIZE  # bytes of a block of a stream, the last one may be smaller
# After a push, until a process for the next one is started: the client isn't done yet, and its
# own machine may be this one.
NEXT_SECONDS = 0.5
_BUNDLE2 = b"HG2"
_ROLLED_BACK = b"rolling back interrupted transaction\n"  # see `inside.reposetup`


class Bridge:
    """One repository. Thread-safe; the processes are the pool's, which many bridges share."""

    def __init__(self, root: str, overrides: Sequence[str] = (), pool: Pool | None = None) -> None:
        self.place = Place(os.path.abspath(root), tuple(overrides))
        self._pool = pool or shared_pool()

    def call(
        self,
        command: bytes,
        arguments: dict[bytes, bytes],
        caller: Caller = ANYONE,
        work: Work | None = None,
    ) -> bytes:
        """The answer of a command that has one, as HTTP would send it.

        Raises: PeerError for what Mercurial refuses, StoreError for what fails; ClientGone, never
        of what writes.
        """
        with self.session(caller, work) as session:
            return session.call(command, arguments)

    def session(self, caller: Caller = ANYONE, work: Work | None = None) -> Session:
        """For several calls that must see one state."""
        return Session(self._pool, self.place, caller, work)

    def commands(self) -> dict[bytes, Command]:
        """What this Mercurial answers to, with permissions; commands of extensions too."""
        server = self._pool.lease(self.place, ANYONE)
        commands = server.commands
        self._pool.give_back(self.place, server)
        return commands

    def capabilities(self, caller: Caller = ANYONE) -> list[bytes]:
        """Of the SSH transport; the HTTP ones are for `hg.wire` to add."""
        return self.call(b"capabilities", {}, caller).split()

    def stream(
        self,
        command: bytes,
        arguments: dict[bytes, bytes],
        caller: Caller = ANYONE,
        work: Work | None = None,
    ) -> Iterator[bytes]:
        """Blocks of BLOCK_SIZE. The first is there on return, so a refusal raises here.

        Raises: as `call`; later, while the blocks are taken, StoreError that must break the reply.
        """
        server = self._pool.lease(self.place, caller, work)
        try:
            server.start_stream(command, arguments)
            self._pool.keep_spare(self.place, server.config)
            return Blocks(self._pool, self.place, server, STREAM_SECONDS)
        except BaseException:
            self._pool.settle(self.place, server)
            raise

    def unbundle(
        self, heads: bytes, payload: Iterator[bytes], caller: Caller = ANYONE
    ) -> Bytes | Stream:
        """Push `payload`, a bundle of any version; `heads` as the wire has it.

        The body of the HTTP reply: of a bundle2 push a bundle2, of a bundle1 push b"<code>\\n" and
        what hooks and Mercurial printed. `payload` is read to its end in any case but an error of
        its own, which is raised on after the push is given up.
        """
        server = self._pool.lease(self.place, caller)
        try:
            refusal = server.start_push(heads)
            if refusal:
                for _ in payload:
                    pass
                self._pool.give_back(self.place, server)
                return Bytes(b"0\n" + refusal + b"\n")
            for block in payload:
                server.send_payload(block)
            server.end_payload()
            blocks = Blocks(self._pool, self.place, server, PUSH_SECONDS)
        except BaseException:
            server.process.finish(FINISH_SECONDS)  # it finds the bundle cut short, and unlocks
            self._pool.forget(self.place, server)
            raise
        self.make_ready(NEXT_SECONDS)
        first = next(blocks, b"")
        if first.startswith(_BUNDLE2):
            return Bytes(first) if blocks.is_complete else Stream(blocks.after(first))
        return Bytes(_bundle1_reply(first + b"".join(blocks), blocks.words))

    def make_ready(self, pause: float = 0.0) -> None:
        """Somebody is about to push: a process that isn't there yet is started meanwhile, which
        nobody waits for.
        """
        self._pool.prepare(self.place, pause)

    def pushkey(self, arguments: dict[bytes, bytes], caller: Caller = ANYONE) -> bytes:
        """b"<0 or 1>\\n" and what hooks printed."""
        return self.call(b"pushkey", arguments, caller)


class Blocks(Iterator[bytes]):
    """The rest of what a process says, in blocks; right only if it then exits with status 0.

    The last block is held back until the exit status is known, so that a torn stream is never
    whole. Closing it early ends the process.
    """

    def __init__(self, pool: Pool, place: Place, server: StdioServer, seconds: float) -> None:
        self._pool = pool
        self._place = place
        self._server: StdioServer | None = server
        self._seconds = seconds
        self.words = b""  # what stderr said, once all blocks are read
        self._has_begun = False
        self._next = self._read()
        self._has_begun = True

    @property
    def is_complete(self) -> bool:
        """Whether no block is left, and all was right."""
        return self._server is None and not self._next

    def __next__(self) -> bytes:
        block = self._next
        if not block:
            raise StopIteration
        self._next = b""
        if self._server is not None:
            self._next = self._read()
        return block

    def after(self, first: bytes) -> Iterator[bytes]:
        """These blocks with one that was taken already put before them again."""
        return _Before(first, self)

    def close(self) -> None:
        server, self._server = self._server, None
        self._next = b""
        if server is not None:
            server.process.end()
            self._pool.forget(self._place, server)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _read(self) -> bytes:
        server = self._server
        assert server is not None
        try:
            block = server.process.read_block(BLOCK_SIZE, self._seconds)
        except BaseException:
            self.close()
            raise
        if len(block) == BLOCK_SIZE:
            return block
        status = server.process.finish(FINISH_SECONDS)
        self.words = server.process.take_words()
        if _ROLLED_BACK in self.words:
            log.warning("%s: what was left of an interrupted push is undone", self._place.root)
        self._server = None
        self._pool.forget(self._place, server)
        if status != 0:
            failure = explain(status, self.words, self._place.root)
            raise StoreError(failure.text, self._place.root) if self._has_begun else failure
        return block


class _Before(Iterator[bytes]):
    def __init__(self, first: bytes, rest: Blocks) -> None:
        self._first = first
        self._rest = rest

    def __next__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        return next(self._rest)

    def close(self) -> None:
        self._rest.close()


def _bundle1_reply(answers: bytes, words: bytes) -> bytes:
    """The HTTP form of: an empty answer and the code; or one answer, the reason of a refusal."""
    length, _, rest = answers.partition(b"\n")
    if not length.isdigit():
        raise ProcessEnded("Mercurial answered garbage after a push")
    if length != b"0":
        return b"0\n" + rest[: int(length)] + b"\n"
    _, _, code = rest.partition(b"\n")
    return code + b"\n" + words


_shared: list[Pool] = []


def shared_pool() -> Pool:
    """The pool of this process; made when first needed, so after a worker has forked."""
    if not _shared:
        _shared.append(Pool())
    return _shared[0]


def close_shared_pool() -> None:
    """At the end of a worker: no child stays."""
    while _shared:
        _shared.pop().close()


def interrupt_shared_pool(seconds: float) -> None:
    """The same for a worker that is cut off itself: `hg` has `seconds` to roll back and unlock."""
    for pool in _shared:
        pool.interrupt(seconds)


os.register_at_fork(after_in_child=_shared.clear)
