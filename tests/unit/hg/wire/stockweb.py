"""Mercurial's own web server, in this process and without a socket: the oracle of these tests."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mercurial import hg
from mercurial.hgweb.hgweb_mod import hgweb
from tests.unit.hg.store.stock import Stock

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.wire.answer import Answer, answer
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.http.blocks import read_span
from trunkline.reply import Bytes, Span, Stream

PROTO = b"0.1 0.2 comp=zstd,zlib,none,bzip2 partial-pull"  # of a stock client


@dataclass(frozen=True)
class Reply:
    status: int
    media_type: str
    body: bytes


def stock_reply(
    stock: Stock, query: bytes, headers: Mapping[bytes, bytes] = {}, method: str = "GET"
) -> Reply:
    """What `hg serve` says."""
    stock.repo.invalidateall()
    repo: Any = hg.repository(stock.ui, str(stock.path).encode())
    said: list[Any] = []
    environment = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": "/",
        "QUERY_STRING": query.decode("latin-1"),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        "wsgi.version": (1, 0),
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in headers.items():
        environment["HTTP_" + name.decode().upper().replace("-", "_")] = value.decode("latin-1")

    def start_response(status: str, found: list[tuple[str, str]], *_: Any) -> Any:
        said[:] = [status, dict(found)]
        return lambda data: None

    body = b"".join(hgweb(repo)(environment, start_response))
    status, found = said
    return Reply(int(status.split()[0]), found.get("Content-Type", ""), body)


def served(stock: Stock, **more: str) -> Served:
    """`more` is of [server], as `zliblevel="1"`."""
    values = {
        (name.partition(".")[0], name.partition(".")[2]): value
        for name, value in stock.config.items()
    } | {("server", name): value for name, value in more.items()}
    return Served.open(str(stock.path), HgConfig(values, values), Bridge(str(stock.path)))


def ask(
    where: Served,
    query: bytes,
    headers: Mapping[bytes, bytes] = {},
    method: str = "GET",
    **more: Any,
) -> Reply:
    """What we say."""
    return read(answer(where, Request(method, query, dict(headers), **more)))


def read(answered: Answer) -> Reply:
    body = answered.body
    if isinstance(body, Bytes):
        data = body.data
    elif isinstance(body, Span):
        data = body.head + b"".join(read_span(body))
    else:
        assert isinstance(body, Stream)
        data = b"".join(body.blocks)
    media_type = dict(answered.headers)[b"content-type"].decode()
    return Reply(answered.status, media_type, data)
