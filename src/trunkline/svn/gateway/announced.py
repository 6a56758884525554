"""Running gateways of this account, for `trunkline svn` to find.

Holds: a file for each in a folder that is ours alone, locked as long as its gateway runs.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from trunkline.errors import StoreError
from trunkline.spool.place import FILE_MODE, default_folder, open_place

log = logging.getLogger(__name__)

NAME = "gateways"
SIZE_LIMIT = 1 << 20  # bytes of a file

Server = tuple[str, int]  # host and port, as clients ask a proxy for it


@dataclass(frozen=True, slots=True)
class Running:
    host: str
    port: int
    servers: frozenset[Server]


@contextmanager
def announced(gateway: Running, environment: Mapping[str, str]) -> Iterator[None]:
    """That it can't be does no harm."""
    try:
        folder = open_place(default_folder(environment, NAME)).folder
        path = f"{folder}/{os.getpid()}-{gateway.port}"
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(path, flags, FILE_MODE)
    except (StoreError, OSError) as error:
        log.warning("`trunkline svn` won't find this gateway: %s", error)
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        said = {"host": gateway.host, "port": gateway.port, "servers": sorted(gateway.servers)}
        os.write(file, json.dumps(said).encode())
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)
        os.close(file)


def find(servers: Iterable[Server], environment: Mapping[str, str]) -> Running | None:
    """One that goes to all of `servers`."""
    folder = default_folder(environment, NAME)
    if not os.path.isdir(folder):
        return None
    with suppress(StoreError, OSError):
        folder = open_place(folder).folder
        for name in sorted(os.listdir(folder)):
            found = read(f"{folder}/{name}")
            if found is not None and found.servers.issuperset(servers):
                return found
    return None


def read(path: str) -> Running | None:
    """None: it runs no more."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if is_free(file):
            os.unlink(path)
            return None
        said = json.loads(os.read(file, SIZE_LIMIT))
        servers = frozenset((host, port) for host, port in said["servers"])
        return Running(said["host"], said["port"], servers)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        os.close(file)


def is_free(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
