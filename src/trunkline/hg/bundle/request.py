"""What a client asks `getbundle` for.

Wire:   arguments by name: `heads` and `common` are hex nodes parted by spaces; `bundlecaps`,
        `listkeys`, `includepats` and `excludepats` are parted by commas; the others are booleans,
        "0" for no.
Source: hg 7.2.4, wireprototypes.py GETBUNDLE_ARGUMENTS and wireprotov1server.py getbundle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from trunkline.errors import PeerError
from trunkline.hg.bundle.bundle2 import LIMIT, Capabilities, parse_capabilities
from trunkline.hg.node import Node, parse_nodes
from trunkline.quoting import unquote

NODES_LIMIT: Final = 1_000_000  # nodes in `heads` or in `common`
NAMESPACES_LIMIT: Final = 64  # namespaces in `listkeys`; a client asks for three at most
WORDS_LIMIT: Final = 1000  # words in `bundlecaps` or a list of patterns
BUNDLECAPS_LIMIT: Final = 64 * 1024  # bytes; a client sends 500
BUNDLE2: Final = b"bundle2="


@dataclass(frozen=True)
class GetBundle:
    """`heads` None: not given. `named`: every argument that was given."""

    heads: tuple[Node, ...] | None = None
    common: tuple[Node, ...] = ()
    bundlecaps: frozenset[bytes] = frozenset()
    cg: bool = True
    listkeys: tuple[bytes, ...] = ()
    bookmarks: bool = False
    phases: bool = False
    obsmarkers: bool = False
    stream: bool = False
    cbattempted: bool = False
    includepats: tuple[bytes, ...] = ()
    excludepats: tuple[bytes, ...] = ()
    named: frozenset[bytes] = frozenset()

    @property
    def is_bundle2(self) -> bool:
        return any(word.startswith(b"HG2") for word in self.bundlecaps)

    @property
    def key(self) -> bytes:
        """The same for two requests that get the same bundle."""
        parts: list[bytes] = [b"none" if self.heads is None else b"".join(sorted(self.heads))]
        parts.append(b"".join(sorted(set(self.common))))
        for words in (self.bundlecaps, self.named - {b"cbattempted"}):
            parts.append(b",".join(sorted(words)))
        for listed in (self.listkeys, self.includepats, self.excludepats):
            parts.append(b",".join(listed))
        flags = (self.cg, self.bookmarks, self.phases, self.obsmarkers, self.stream)
        parts.append(bytes(flags))
        return b"".join(b"%d:%b" % (len(part), part) for part in parts)

    @cached_property
    def capabilities(self) -> Capabilities:
        """What the client can take in a bundle2."""
        found: Capabilities = {}
        for word in sorted(self.bundlecaps):
            if word.startswith(BUNDLE2):
                found |= parse_capabilities(unquote(word[len(BUNDLE2) :]))
        return found


def parse_getbundle(arguments: Mapping[bytes, bytes]) -> GetBundle:
    """Unknown arguments are passed over, as stock does. Raises: PeerError."""
    return GetBundle(
        heads=parse_limited(arguments[b"heads"]) if b"heads" in arguments else None,
        common=parse_limited(arguments.get(b"common", b"")),
        bundlecaps=parse_bundlecaps(arguments.get(b"bundlecaps")),
        cg=parse_flag(arguments.get(b"cg"), True),
        listkeys=parse_namespaces(arguments.get(b"listkeys")),
        bookmarks=parse_flag(arguments.get(b"bookmarks")),
        phases=parse_flag(arguments.get(b"phases")),
        obsmarkers=parse_flag(arguments.get(b"obsmarkers")),
        stream=parse_flag(arguments.get(b"stream")),
        cbattempted=parse_flag(arguments.get(b"cbattempted")),
        includepats=parse_words(arguments.get(b"includepats")),
        excludepats=parse_words(arguments.get(b"excludepats")),
        named=frozenset(NAMES.intersection(arguments)),
    )


NAMES: Final = frozenset(
    name.encode() for name in GetBundle.__dataclass_fields__ if name != "named"
)


def parse_limited(text: bytes) -> tuple[Node, ...]:
    if text.count(b" ") >= NODES_LIMIT:
        raise PeerError(f"getbundle: more than {NODES_LIMIT} changeset ids")
    return parse_nodes(text)


def parse_words(text: bytes | None) -> tuple[bytes, ...]:
    """Raises: PeerError past WORDS_LIMIT."""
    if text is not None and text.count(b",") >= WORDS_LIMIT:
        raise PeerError(f"getbundle: more than {WORDS_LIMIT} words in one argument")
    return () if text is None else tuple(text.split(b","))


def parse_bundlecaps(text: bytes | None) -> frozenset[bytes]:
    """Raises: PeerError past BUNDLECAPS_LIMIT, which bounds what is in the quoted ones, too."""
    if text is not None and len(text) > BUNDLECAPS_LIMIT:
        raise PeerError(f"getbundle: more than {BUNDLECAPS_LIMIT} bytes of bundlecaps")
    return frozenset(parse_words(text))


def parse_namespaces(text: bytes | None) -> tuple[bytes, ...]:
    """Each becomes a parameter of its part, and is sent once, however often it is named.

    Raises: PeerError for one that doesn't fit.
    """
    if text is not None and text.count(b",") >= NAMESPACES_LIMIT:
        raise PeerError(f"getbundle: more than {NAMESPACES_LIMIT} namespaces in listkeys")
    found = tuple(dict.fromkeys(parse_words(text)))
    if any(len(name) > LIMIT for name in found):
        raise PeerError(f"getbundle: a namespace of more than {LIMIT} bytes")
    return found


def parse_flag(text: bytes | None, default: bool = False) -> bool:
    return default if text is None else text not in (b"", b"0")
