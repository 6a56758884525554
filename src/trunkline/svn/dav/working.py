"""The commit that a request adds to: begun, found again, or one of its own.

A transaction's tree is `txr/T` in HTTP v2 and `wrk/T` in v1; both are the same to us.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from trunkline.errors import PeerError
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import CLIENT_CAPABILITIES
from trunkline.svn.dav.tokens import check_locks, if_holds, if_tokens
from trunkline.svn.dav.url import Resource
from trunkline.svn.repository.commit import run_start_commit
from trunkline.svn.txn.area import Stored, Transactions
from trunkline.svn.txn.assembly import Assembly, Props

TREES = ("txr", "vtxr", "wrk")
TXNS = ("txn", "vtxn", "act")


def transactions(exchange: Exchange) -> Transactions:
    session = exchange.session
    return exchange.served.area.of(exchange.served.path, session.uuid)


def open_stored(exchange: Exchange, resource: Resource | None = None) -> Stored:
    found = resource or exchange.resource
    return transactions(exchange).open(found.txn, exchange.request.user)


@contextmanager
def assembly(exchange: Exchange, resource: Resource | None = None) -> Iterator[Assembly]:
    """The commit that a request adds a step to. With autoversioning a step on a public URL is a
    commit of its own, made at the end of the block.
    """
    found = resource or exchange.resource
    if found.kind in TREES:
        with Assembly(exchange.session, open_stored(exchange, found)) as made:
            yield made
    elif found.kind == "public" and exchange.served.autoversioning:
        asked = exchange.request, exchange.resource.path
        if not if_holds(*asked, exchange.session, exchange.youngest):
            raise PeerError("a condition of the request isn't true", status=412)
        yield from own_commit(exchange, found)
    else:
        raise PeerError("only what is in a transaction can be changed", status=405)


def own_commit(exchange: Exchange, resource: Resource) -> Iterator[Assembly]:
    """Source of the words: subversion 1.14, mod_dav_svn/version.c."""
    message = b"Autoversioning commit:  a non-deltaV client made a change to\n" + resource.path
    stored = start(exchange, [(b"svn:log", message), (b"svn:autoversioned", b"*")])
    try:
        with Assembly(exchange.session, stored) as made:
            yield made
            made.commit([])
    finally:
        stored.remove()


def version_name(exchange: Exchange) -> int | None:
    text = exchange.request.header(b"x-svn-version-name").strip()
    return int(text) if text.isdigit() and len(text) <= 10 else None


def start(exchange: Exchange, props: Props, name: bytes | None = None) -> Stored:
    """A transaction on the youngest revision. Runs the start-commit hook."""
    session, user = exchange.session, exchange.request.user
    base = exchange.youngest
    revprops = {name: value for name, value in props if value is not None}
    if user is not None:
        revprops[b"svn:author"] = user
    run_hook(exchange, base, revprops)
    stored = transactions(exchange).create(base, user, name)
    if props:
        with Assembly(session, stored) as made:
            made.set_revprops(props)
    return stored


def run_hook(exchange: Exchange, base: int, revprops: Mapping[bytes, bytes]) -> None:
    """The start-commit hook, if there is one. Raises: SvnError."""
    if has_start_commit(exchange.served.path):
        said = exchange.request.header(b"dav").decode("latin-1")
        exchange.session.say_capabilities(
            tuple(word for token, word in CLIENT_CAPABILITIES.items() if token in said)
        )
        run_start_commit(exchange.session, base, revprops)


def has_start_commit(path: bytes) -> bool:
    return os.access(path + b"/hooks/start-commit", os.X_OK)


def keep_tokens(
    exchange: Exchange,
    made: Assembly,
    path: bytes | None = None,
    more: list[tuple[bytes, bytes]] | None = None,
    recursive: bool = False,
) -> None:
    """Lock tokens of the request are kept for the commit, and must be enough for `path`."""
    path = exchange.resource.path if path is None else path
    tokens = [*if_tokens(exchange.request, path), *(more or [])]
    known = made.tokens | {token for _, token in tokens}
    check_locks(exchange.session, path, known, recursive, exchange.request.user)
    made.add_tokens(tokens)
