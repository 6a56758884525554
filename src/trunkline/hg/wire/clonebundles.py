"""Clone bundles: a list of ready-made bundles that a client may fetch from elsewhere, or from us.

Wire:   the file `.hg/clonebundles.manifest`: one bundle a line, its URL and then attributes.
Source: hg 7.2.4, wireprotov1server.py (clonebundles, clonebundles_2, get_cached_bundle_inline),
        exchanges/bundle_cache.py and bundlecaches.py.
"""

from __future__ import annotations

import os

from trunkline.errors import PeerError, StoreError
from trunkline.hg.store.links import READ, why
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.bundle_manifest import parse_entry
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.file_reply import sized_file
from trunkline.hg.wire.own_bundles import INLINE, find_own, own_lines
from trunkline.hg.wire.replies import File, Text
from trunkline.hg.wire.served import MANIFEST, Served

MANIFEST_LIMIT = 16 * 1024 * 1024  # bytes
INLINE_SCHEME = b"peer-bundle-cache://"
OWN = INLINE.removeprefix(INLINE_SCHEME)
READ_SIZE = 512 * 1024  # bytes


def hg_path(served: Served, *names: str) -> str:
    return os.path.join(served.root, ".hg", *names)


def read_manifest(path: str) -> bytes:
    """Empty when there is none. Raises: StoreError."""
    try:
        with open(os.open(path, READ), "rb") as file:
            data = file.read(MANIFEST_LIMIT + 1)
    except FileNotFoundError:
        return b""
    except OSError as failure:
        raise StoreError(f"can't be read: {why(failure)}", path) from failure
    if len(data) > MANIFEST_LIMIT:
        raise StoreError(f"larger than {MANIFEST_LIMIT} bytes", path)
    return data


def manifest_lines(exchange: Exchange, takes_inline: bool) -> list[bytes]:
    """The operator's own manifest, or else the bundles that we have made."""
    path = hg_path(exchange.served, MANIFEST)
    if os.path.exists(path):
        return [line + b"\n" for line in read_manifest(path).splitlines()]
    return own_lines(exchange, takes_inline)


def clonebundles_manifest(exchange: Exchange, _: Arguments) -> Text:
    return Text(b"".join(manifest_lines(exchange, takes_inline=True)))


def clonebundles(exchange: Exchange, _: Arguments) -> Text:
    """For clients before 6.8: without what only newer ones understand.

    Each line ends in two line feeds, as stock has it; clients skip the empty ones.
    """
    found = manifest_lines(exchange, takes_inline=False)
    lines = [line for line in found if is_for_older_clients(line)]
    return Text(b"\n".join([*lines, b""]))


def is_for_older_clients(line: bytes) -> bool:
    if line.startswith(INLINE_SCHEME):
        return False
    entry = parse_entry(line)
    return entry is None or not entry.store_fingerprint


def get_cached_bundle_inline(exchange: Exchange, arguments: Arguments) -> File:
    """A bundle of ours, or one out of `server.peer-bundle-cache-root`: its length as a uvarint,
    then the bytes.

    Sent as it is: a stock client doesn't unpack this reply under 0.1, and bundles are packed.
    Raises: PeerError for what isn't a file below that folder.
    """
    return sized_file(find_bundle(exchange, arguments))


def find_bundle(exchange: Exchange, arguments: Arguments) -> str:
    """Its path. Raises: PeerError."""
    served = exchange.served
    name = arguments[b"path"]
    if name.startswith(OWN):
        own = find_own(exchange, name[len(OWN) :])
        if own is not None:
            return own.path
    folder = served.config.text("server", "peer-bundle-cache-root", "bundle-cache")
    # A symlink in the place of a relative folder isn't followed: `path` is then elsewhere.
    root = os.path.normpath(os.path.join(os.path.realpath(hg_path(served)), folder))
    if os.path.isabs(folder):
        root = os.path.realpath(folder)
    shown = name[:200].decode("utf-8", "replace")
    if b"\0" in name:
        raise PeerError(f"clonebundle {shown!r} does not exist")
    path = os.path.realpath(os.path.join(root, os.fsdecode(name)))
    if not path.startswith(root + os.sep):
        raise PeerError(f"clonebundle {shown} is using an illegal path")
    if not os.path.isfile(path):
        raise PeerError(f"clonebundle {shown} does not exist")
    return path
