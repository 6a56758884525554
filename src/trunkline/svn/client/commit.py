"""Many files as one commit: parallel PUTs to one transaction of an HTTP v2 server.

What a transaction needs first (POST, MKCOL) goes out on one connection, and PUTs right behind it,
unanswered; the other connections join in once the transaction is there.
"""

from __future__ import annotations

import ssl
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import md5
from pathlib import Path
from queue import Empty, SimpleQueue

from trunkline.svn.client import requests
from trunkline.svn.client.connection import Ask, Connection, Lost, Said, Server
from trunkline.svn.client.failed import CommitFailed
from trunkline.svn.client.file import File
from trunkline.svn.client.requests import Place

CONNECTIONS = 8
RESULT_MD5 = "x-svn-result-fulltext-md5"
GOOD = {
    "OPTIONS": (200,),
    "POST": (201,),
    "MKCOL": (201, 405),  # 405: something is there already
    "PUT": (201, 204),
    "PROPPATCH": (207,),
    "MERGE": (200,),
}


@dataclass(frozen=True, slots=True)
class Committed:
    """`date` as Subversion writes it. `warning`: what the post-commit hook said when it failed."""

    revision: int
    author: str | None
    date: str
    warning: str | None


def commit_files(
    url: str,
    files: Mapping[str, File | bytes | Path],
    message: str,
    *,
    user: str | None = None,
    password: str = "",
    tls: ssl.SSLContext | None = None,
    connections: int = CONNECTIONS,
) -> Committed:
    """Commit `files`, all or none, into the folder that `url` names.

    Keys are paths from there. Missing folders on the way are made; files that are there get the new
    text, whoever changed them meanwhile. Texts on disk are read while they are sent. A server that
    isn't Trunkline takes one writer at a time and gets one connection, pipelined.

    Raises: CommitFailed, ValueError for what is no path or no name of a property.
    """
    server = Server(url, user, password, tls)
    texts = {
        requests.clean(path): file if isinstance(file, File) else File(file)
        for path, file in files.items()
    }
    first = Connection(server)
    try:
        place = requests.parse_place(url, asked(first, requests.options(url)))
        effort = Effort(server, place, texts, message)
        effort.run(first, connections if place.takes_many else 1)
    finally:
        first.close()
    return effort.committed


class Text:
    """A body that is hashed while it is read. `digest` is of the last reading."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.digest = ""

    def __iter__(self) -> Iterator[bytes]:
        found = md5(usedforsecurity=False)
        for block in self._file.blocks():
            found.update(block)
            yield block
        self.digest = found.hexdigest()


class Effort:
    """One commit. Its first failure stops all of its threads."""

    committed: Committed

    def __init__(
        self, server: Server, place: Place, texts: Mapping[str, File], message: str
    ) -> None:
        self._server = server
        self._place = place
        self._name = str(uuid.uuid4())
        self._begin = requests.begin(place, self._name, message, texts)
        self._jobs: SimpleQueue[list[Ask]] = SimpleQueue()
        for path, file in texts.items():
            self._jobs.put(requests.file(place, self._name, path, file, Text(file)))
        self._ready = threading.Event()  # the transaction and its folders are there
        self._stop = threading.Event()
        self._failures: SimpleQueue[Exception] = SimpleQueue()
        self._connections = 0

    def run(self, first: Connection, count: int) -> None:
        """Raises: CommitFailed."""
        count = max(1, min(count, self._jobs.qsize()))
        with ThreadPoolExecutor(count) as pool:
            for number in range(count):
                pool.submit(self._work, first if number == 0 else None)
        if not self._failures.empty():
            self._give_up()
            raise self._failures.get()
        self.committed = self._merge(first)

    def _work(self, first: Connection | None) -> None:
        """In a thread of its own."""
        try:
            if first is not None:
                self._send(first, self._begin)
                return
            connection = Connection(self._server)
            try:
                self._ready.wait()
                self._send(connection, [])
            finally:
                connection.close()
        except Exception as error:
            self._failures.put(error)
            self._stop.set()
            self._ready.set()

    def _send(self, connection: Connection, before: list[Ask]) -> None:
        """Raises: CommitFailed."""
        for ask, said in connection.ask_all(self._all(before)):
            check(ask, said)
            if before and ask is before[-1]:
                self._ready.set()
            if self._stop.is_set():
                return

    def _all(self, before: Iterable[Ask]) -> Iterator[Ask]:
        yield from before
        while not self._stop.is_set():
            try:
                yield from self._jobs.get_nowait()
            except Empty:
                return

    def _merge(self, connection: Connection) -> Committed:
        """Raises: CommitFailed."""
        ask = requests.merge(self._place, self._name)
        try:
            said = connection.ask_once(ask)
        except Lost as error:
            text = f"the answer was lost ({error}): the log tells whether it was committed"
            raise CommitFailed(text) from None
        try:
            check(ask, said)
        except CommitFailed:
            self._give_up()
            raise
        return Committed(*requests.parse_merged(said))

    def _give_up(self) -> None:
        """Take the transaction away, as well as that goes."""
        with suppress(CommitFailed, Lost):
            connection = Connection(self._server)
            connection.ask_once(requests.forget(self._place, self._name))
            connection.close()


def asked(connection: Connection, ask: Ask) -> Said:
    """Raises: CommitFailed."""
    for one, said in connection.ask_all([ask]):
        check(one, said)
        return said
    raise AssertionError


def check(ask: Ask, said: Said) -> None:
    """Raises: CommitFailed."""
    if said.status not in GOOD[ask.method]:
        raise requests.explain(ask, said)
    if ask.method == "PROPPATCH":
        requests.check_properties(ask, said)
    theirs = said.headers.get(RESULT_MD5)
    if isinstance(ask.body, Text) and theirs and theirs.lower() != ask.body.digest:
        raise CommitFailed("the server got another text than was sent", path=ask.path)
