"""The way in: one request, one answer. Every method and what answers it."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.errors import PeerError
from trunkline.svn.dav.commit import (
    checkout,
    copy,
    delete,
    mkactivity,
    mkcol,
    post,
    put,
)
from trunkline.svn.dav.exchange import Exchange, Served
from trunkline.svn.dav.failure import explain
from trunkline.svn.dav.get import get
from trunkline.svn.dav.lock import lock, unlock
from trunkline.svn.dav.merge import merge
from trunkline.svn.dav.options import options
from trunkline.svn.dav.packing import packed
from trunkline.svn.dav.propfind import propfind
from trunkline.svn.dav.proppatch import proppatch
from trunkline.svn.dav.reports.table import report
from trunkline.svn.dav.request import Answer, Request

Method = Callable[[Exchange], Answer]

READS: dict[str, Method] = {
    "GET": get,
    "HEAD": get,
    "OPTIONS": options,
    "PROPFIND": propfind,
    "REPORT": report,
}
WRITES: dict[str, Method] = {
    "CHECKOUT": checkout,
    "COPY": copy,
    "DELETE": delete,
    "LOCK": lock,
    "MERGE": merge,
    "MKACTIVITY": mkactivity,
    "MKCOL": mkcol,
    "MOVE": copy,
    "POST": post,
    "PROPPATCH": proppatch,
    "PUT": put,
    "UNLOCK": unlock,
}
METHODS = {**READS, **WRITES}


def answer(served: Served, request: Request) -> Answer:
    """Synchronous: run it in a thread. A fault is an answer, too; but what a `Stream` raises
    must break the connection.
    """
    exchange = Exchange(served, request)
    try:
        run = METHODS.get(request.method)
        if run is None:
            raise PeerError(f"nothing here answers to {request.method[:20]}", status=405)
        if request.method in WRITES:
            exchange.need_write()
        elif served.rules is not None:
            exchange.need_read()
        return packed(request, run(exchange))
    except Exception as error:
        return explain(error, f"{request.method} {request.raw_path.decode('latin-1')}")
    finally:
        exchange.finish()
