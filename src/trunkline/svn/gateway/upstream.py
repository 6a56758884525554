"""A server behind the gateway: how it is reached, its kept connections, what it said of itself."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from trunkline.errors import SettingsError
from trunkline.svn.gateway.exchange import UpstreamLost
from trunkline.svn.gateway.link import UNLIMITED, Link
from trunkline.svn.gateway.message import Head
from trunkline.svn.gateway.progress import Progress

KEPT_LINKS = 8
CONNECT_SECONDS = 30
ONE_BY_ONE_SECONDS = 600  # that a broken pipeline is remembered
PROOF = 20  # answers before others that were sent already: so it does take a pipeline
ACCEPTED_SECONDS = 900  # that credentials are taken for good without asking
ACCEPTED_LIMIT = 1000
REPOSITORIES_LIMIT = 1000
READS, WRITES = b"r", b"w"
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Repository:
    """What an answer to OPTIONS says. URL paths, without a slash at the end."""

    root: bytes
    me: bytes
    txn: bytes
    txr: bytes
    vtxn: bytes  # b"": clients can't name a transaction
    vtxr: bytes
    rvr: bytes
    youngest: int
    posts: frozenset[bytes]
    uuid: bytes


class Upstream:
    """Raises: SettingsError."""

    def __init__(self, url: str, ca_file: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname or parts.username:
            raise SettingsError(f"{url}: an upstream is http://HOST[:PORT] or https://HOST[:PORT]")
        self.url = url
        self._host = parts.hostname
        self._port = parts.port or PORTS[parts.scheme]
        self._tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        self.host = parts.netloc.encode()  # as the Host header has it
        self.origin = f"{parts.scheme}://{parts.netloc}".encode()
        # As a client's proxy is asked for it: never by https.
        self.asked_as = (self._host.lower(), parts.port or 80)
        self.progress = Progress()  # of the last commit
        self.repositories: dict[bytes, Repository] = {}  # by `me`
        self.writes = 0  # requests that may have changed something
        self._kept: list[Link] = []
        self._warming: asyncio.Task[None] | None = None
        self._one_by_one_until = 0.0
        self._broke = -math.inf
        self._requests = UNLIMITED  # of one connection
        self._accepted: dict[bytes, float] = {}
        self._salt = os.urandom(16)

    @property
    def may_pipeline(self) -> bool:
        return time.monotonic() > self._one_by_one_until

    def pipeline_broke(self, answered: int) -> None:
        """After so many answers. Any connection may be lost once, but who breaks pipelining does
        it soon, or again.
        """
        now = time.monotonic()
        if answered >= PROOF and now > self._broke + ONE_BY_ONE_SECONDS:
            self._broke = now
        else:
            self._one_by_one_until = now + ONE_BY_ONE_SECONDS

    async def connect(self, fresh: bool = False) -> Link:
        """A kept connection or a new one. Raises: UpstreamLost."""
        if self._warming is not None and not fresh:
            await asyncio.wait([self._warming])
        while self._kept and not fresh:
            link = self._kept.pop()
            if link.is_usable:
                return link
            link.close()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                transport, link = await asyncio.get_running_loop().create_connection(
                    lambda: Link(self._requests, self._learn_limit),
                    self._host,
                    self._port,
                    ssl=self._tls,
                )
        except (OSError, TimeoutError) as error:
            raise UpstreamLost(f"{self.url} can't be reached: {words(error)}") from None
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return link

    def _learn_limit(self, requests: int) -> None:
        """Of one connection. A new one may be full before its first answer comes."""
        self._requests = requests

    def warm(self) -> None:
        """A connection that somebody needs in a moment."""
        if not self._kept:
            self._warming = asyncio.create_task(self._warm())

    async def _warm(self) -> None:
        try:
            self.keep(await self.connect(fresh=True))
        except UpstreamLost:
            pass  # the first request will say so

    def keep(self, link: Link) -> None:
        """For another client, if it is of any use."""
        if link.is_usable and not link.unanswered and len(self._kept) < KEPT_LINKS:
            link.on_change = lambda: None
            link.was_kept = True
            self._kept.append(link)
        else:
            link.close()

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()

    def learn(self, head: Head) -> Repository | None:
        """From the answer to OPTIONS."""
        repository = parse_repository(head)
        if repository is not None:
            while len(self.repositories) >= REPOSITORIES_LIMIT:
                self.repositories.pop(next(iter(self.repositories)))
            self.repositories[repository.me] = repository
        return repository

    def repository_of(self, target: bytes) -> Repository | None:
        for repository in self.repositories.values():
            if target.startswith(repository.root + b"/") or target == repository.root:
                return repository
        return None

    # Credentials that began a transaction, or read. No password is kept, only a salted digest.

    def accept(self, repository: Repository, credentials: bytes) -> None:
        self._note(WRITES, repository, credentials)

    def accept_reads(self, repository: Repository, credentials: bytes) -> None:
        self._note(READS, repository, credentials)

    def accepts(self, repository: Repository, credentials: bytes) -> bool:
        return self._knows(WRITES, repository, credentials)

    def accepts_reads(self, repository: Repository, credentials: bytes) -> bool:
        return self._knows(READS, repository, credentials)

    def refuse(self, repository: Repository, credentials: bytes) -> None:
        for use in (READS, WRITES):
            self._accepted.pop(self._digest(use, repository, credentials), None)

    def _note(self, use: bytes, repository: Repository, credentials: bytes) -> None:
        while len(self._accepted) >= ACCEPTED_LIMIT:
            self._accepted.pop(next(iter(self._accepted)))
        until = time.monotonic() + ACCEPTED_SECONDS
        self._accepted[self._digest(use, repository, credentials)] = until

    def _knows(self, use: bytes, repository: Repository, credentials: bytes) -> bool:
        until = self._accepted.get(self._digest(use, repository, credentials), 0.0)
        return time.monotonic() < until

    def _digest(self, use: bytes, repository: Repository, credentials: bytes) -> bytes:
        text = b"\0".join((use, repository.me, credentials))
        return hashlib.blake2b(text, key=self._salt, digest_size=16).digest()


def words(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted ({error.verify_message})"
    return str(error) or "no answer"


def parse_repository(head: Head) -> Repository | None:
    def path(name: bytes) -> bytes:
        return (head.header(name) or b"").rstrip(b"/")

    me, youngest = path(b"svn-me-resource"), head.header(b"svn-youngest-rev") or b""
    if not me or not youngest.isdigit():
        return None
    values = [value for key, value in head.headers if key.lower() == b"svn-supported-posts"]
    return Repository(
        path(b"svn-repository-root"),
        me,
        path(b"svn-txn-stub"),
        path(b"svn-txn-root-stub"),
        path(b"svn-vtxn-stub"),
        path(b"svn-vtxn-root-stub"),
        path(b"svn-rev-root-stub"),
        int(youngest),
        frozenset(one.strip() for value in values for one in value.split(b",")),
        head.header(b"svn-repository-uuid") or b"",
    )
