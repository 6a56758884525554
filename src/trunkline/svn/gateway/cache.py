"""Texts of files in a revision, on disk: they never change.

Holds, in a folder that is ours alone: `secret`; a file for each answer, named by a digest of the
repository's UUID, the URL, what the client accepts, and its credentials. So nobody gets what
somebody else was sent; and the digest of the credentials is a slow one (scrypt), with the secret
as its salt.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

from trunkline.errors import StoreError
from trunkline.spool.place import FILE_MODE, default_folder, open_place
from trunkline.svn.gateway.message import Head, Request
from trunkline.svn.gateway.upstream import Repository

log = logging.getLogger(__name__)

ENTRY_BYTES = 4 << 20  # of an answer; longer ones aren't kept
SWEEPS = 16  # in the time that as many bytes are written as there may be
SECRET_BYTES = 32
SCRYPT_COST = 1 << 14
PART = ".part"
# Of requests: with these the answer may be another.
VARIED = (b"x-svn-vr-base", b"accept-encoding", b"accept")
PARTIAL = (b"range", b"if-none-match", b"if-modified-since", b"if-match", b"if-unmodified-since")
NOT_KEPT = frozenset((b"set-cookie", b"date", b"age"))


class Cache:
    def __init__(self, folder: str, limit: int) -> None:
        """`limit` in bytes. Raises: StoreError."""
        self._folder = open_place(folder).folder
        self._limit = limit
        self._secret = read_secret(f"{self._folder}/secret")
        self._slow_digest = lru_cache(maxsize=64)(self._digest_credentials)

    def name(self, request: Request, repository: Repository) -> str:
        """Of the file for its answer; "": that isn't kept."""
        is_text = request.method == b"GET" and request.target.startswith(repository.rvr + b"/")
        if not is_text or not repository.uuid or any(map(request.header, PARTIAL)):
            return ""
        varied = [request.header(name) or b"" for name in VARIED]
        user = self._slow_digest(request.header(b"authorization") or b"")
        digest = hashlib.blake2b(key=self._secret, digest_size=24)
        for field in (repository.uuid, request.target, user, *varied):
            digest.update(b"%d:%s" % (len(field), field))
        return digest.hexdigest()

    def _digest_credentials(self, credentials: bytes) -> bytes:
        if not credentials:
            return b""
        return hashlib.scrypt(credentials, salt=self._secret, n=SCRYPT_COST, r=8, p=1)

    def read(self, name: str) -> bytes | None:
        """A whole answer."""
        path = f"{self._folder}/{name}"
        try:
            with open(path, "rb") as file:
                os.utime(file.fileno())
                return file.read()
        except OSError:
            return None

    def keep(self, name: str, head: Head, body: bytes) -> bool:
        """Whether a sweep is due. That it can't be kept does no harm."""
        kept = Head(head.status, [one for one in head.headers if one[0].lower() not in NOT_KEPT])
        data = kept.format(b"Content-Length: %d\r\n" % len(body)) + body
        path = f"{self._folder}/{name}"
        part = f"{path}.{secrets.token_hex(4)}{PART}"
        try:
            with open(part, "xb", opener=private) as file:
                file.write(data)
            os.replace(part, path)
        except OSError as error:
            log.warning("%s: can't be written: %s", self._folder, error.strerror)
            with suppress(OSError):
                os.unlink(part)
        return random.random() * self._limit < len(data) * SWEEPS

    def sweep(self) -> None:
        """The files that weren't read for the longest time make room. Any number of gateways share
        the folder, so that none of them counts.
        """
        found = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.name != "secret":
                        about = entry.stat(follow_symlinks=False)
                        found.append((about.st_mtime, about.st_blocks * 512, entry.path))
        over = sum(size for _, size, _ in found) - self._limit
        for _, size, path in sorted(found):
            if over <= 0:
                return
            with suppress(OSError):
                os.unlink(path)
            over -= size


def private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)


def read_secret(path: str) -> bytes:
    """Made where there is none. Raises: StoreError."""
    part = f"{path}.{secrets.token_hex(4)}{PART}"
    try:
        if not os.path.exists(path):
            with open(part, "xb", opener=private) as file:
                file.write(secrets.token_bytes(SECRET_BYTES))
            with suppress(FileExistsError):
                os.link(part, path)
            os.unlink(part)
        with open(path, "rb", opener=private) as file:
            secret = file.read()
    except OSError as error:
        raise StoreError(f"can't be used: {error.strerror}", path) from error
    if len(secret) != SECRET_BYTES:
        raise StoreError("isn't a secret of the gateway's", path)
    return secret


def open_cache(environment: Mapping[str, str], limit: int) -> Cache | None:
    """None: without one."""
    if not limit:
        return None
    try:
        return Cache(default_folder(environment, "gateway"), limit)
    except StoreError as error:
        log.warning("nothing is cached: %s", error.text)
        return None
