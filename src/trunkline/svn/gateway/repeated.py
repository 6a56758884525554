"""Requests that were sent twice, since the first answer was lost: "it is there already" may be
their own doing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from trunkline.svn.dav.url import quote
from trunkline.svn.gateway.channel import Channel
from trunkline.svn.gateway.exchange import Exchange, UpstreamLost
from trunkline.svn.gateway.failure import XML, Failure, lost
from trunkline.svn.gateway.message import Body, Headers, Request
from trunkline.svn.gateway.touched import Touched

THERE = 207
PROPFIND = b'<propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>'
# What a second one gets where the first has been done.
SECOND = {b"PUT": 204, b"MKCOL": 405, b"COPY": 412, b"DELETE": 404}
# A second edit finds the first one's text where it looks for the one before. Source: subversion
# 1.14, libsvn_fs_fs/tree.c (apply_textdelta).
OTHER_BASE = b'errcode="200014"'
ACTUAL = re.compile(rb"actual:\s+([0-9a-f]{32})")
RESULT_MD5 = b"x-svn-result-fulltext-md5"


def has_its_text(done: Exchange) -> bool:
    """What a PUT makes is there, as its answer tells."""
    body = done.body()
    found = ACTUAL.search(body) if OTHER_BASE in body else None
    return found is not None and found[1] == done.request.header(RESULT_MD5)


@dataclass(frozen=True, slots=True)
class Doubt:
    path: bytes
    was_there: bool  # it must have been, before the commit
    failure: Failure  # where it is otherwise


class Repeated:
    """Holds: what is asked for at the end."""

    def __init__(self, root: bytes) -> None:
        self._root = root  # URL path
        self._doubts: list[Doubt] = []

    def excuses(self, done: Exchange, path: bytes, failure: Failure, touched: Touched) -> bool:
        """It isn't a failure, as far as can be told before the end."""
        method = done.request.method
        if not done.was_repeated or done.head is None:
            return False
        if method == b"PUT" and has_its_text(done):
            return True
        if SECOND.get(method) != done.head.status:
            return False
        if not touched.is_own(method, path):
            self._doubts.append(Doubt(path, method == b"DELETE", failure))
        return True

    async def settle(self, channel: Channel, headers: Headers) -> Failure | None:
        """What was there before is in the youngest revision still."""
        asked = [self._ask(channel, one.path, headers) for one in self._doubts]
        for doubt, exchange in zip(self._doubts, asked, strict=True):
            try:
                is_there = (await exchange.wait_head()).status == THERE
                await exchange.whole()
            except UpstreamLost as error:
                return lost(error.text)
            if is_there != doubt.was_there:
                return doubt.failure
        return None

    def _ask(self, channel: Channel, path: bytes, headers: Headers) -> Exchange:
        target = self._root + quote(path)
        request = Request(b"PROPFIND", target, [*headers, (b"Depth", b"0"), XML], Body(PROPFIND))
        exchange = Exchange(request)
        channel.send(exchange)
        return exchange
