"""Names for replies that are the same for many: what they depend on, all of it.

The stat of the store's folder is part of it: Mercurial makes and removes its lock there, so it
moves whenever something is written, `hg censor` included, which no changeset tells of.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

import trunkline
from trunkline import __version__
from trunkline.config.hgconfig import HgConfig
from trunkline.errors import StoreError
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.command import Command
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.negotiate import Packing
from trunkline.hg.wire.replies import Repeatable
from trunkline.hg.wire.request import Request
from trunkline.reply import Order, Recipe

MAKERS: Final = ("hg", "compression")  # folders of ours whose code decides about the bytes
NAME_LENGTH: Final = 20  # bytes of digest
UNPACKED: Final = 3  # stored deltas are packed about so many times
HEADERS: Final = b"x-hg"


@dataclass(frozen=True, slots=True)
class Job:
    """All that an answer is worked out from again."""

    root: str
    config: HgConfig
    request: Request


def make_recipe(
    exchange: Exchange, command: Command, repeatable: Repeatable | None, packing: Packing | None
) -> Recipe | None:
    """`packing` is None where the client takes the stream as it is."""
    snapshot = exchange.native
    if repeatable is None or snapshot is None:
        return None
    size = repeatable.size
    if packing is not None and packing.engine.name == "none" and not repeatable.is_stored_form:
        size *= UNPACKED

    def write() -> Order:
        served, request = exchange.served, exchange.request
        name = digest(
            (
                __version__.encode(),
                code_digest(),
                os.fsencode(served.root),
                store_stamp(snapshot),
                snapshot.key,
                exchange.view_name.encode(),
                served.keep("config digest", served.config, lambda: config_digest(served.config)),
                command.name,
                repeatable.asked,
                b"" if packing is None else packing_key(packing),
            )
        )
        return Order(name, size, pickle.dumps(Job(served.root, served.config, said(request))))

    return Recipe(size, write, is_cheap=repeatable.is_stored_form)


def said(request: Request) -> Request:
    """What an answer may depend on."""
    headers = {name: value for name, value in request.headers.items() if name.startswith(HEADERS)}
    return Request(request.method, request.query, headers, request.body, user=request.user)


def packing_key(packing: Packing) -> bytes:
    level = packing.chosen.level
    return b"%s %s %d" % (
        packing.media_type,
        packing.engine.wire_name,
        -99 if level is None else level,
    )


def store_stamp(snapshot: Snapshot) -> bytes:
    """Raises: StoreError."""
    path = snapshot.layout.store_path
    try:
        found = os.stat(path)
    except OSError as error:
        raise StoreError(f"can't be looked at: {error.strerror}", path) from error
    return b"%d %d" % (found.st_ino, found.st_mtime_ns)


@cache
def code_digest() -> bytes:
    """So that no reply of an older Trunkline is given out; the same on every machine."""
    folder = Path(trunkline.__file__).parent
    files = sorted(path for name in MAKERS for path in (folder / name).rglob("*.py"))
    return digest(path.read_bytes() for path in files).encode()


def config_digest(config: HgConfig) -> bytes:
    parts: list[bytes] = []
    for values in (config.trusted, config.untrusted):
        for (section, name), value in sorted(values.items()):
            parts += (text.encode("utf-8", "surrogateescape") for text in (section, name, value))
        parts.append(b"")
    return digest(parts).encode()


def digest(parts: Iterable[bytes]) -> str:
    """Hex; no two lists of parts look the same."""
    found = blake2b(digest_size=NAME_LENGTH)
    for part in parts:
        found.update(b"%d:" % len(part))
        found.update(part)
    return found.hexdigest()
