"""Was it committed? For a MERGE whose answer got lost.

A transaction can be committed once; as long as it is there, it wasn't. Once it is gone, the
revision is searched among those since: the same author, the same log message, and the paths.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from trunkline.errors import PeerError
from trunkline.svn.dav.skel import Skel, parse_properties, parse_skel
from trunkline.svn.dav.xml_in import Element, parse
from trunkline.svn.dav.xml_out import escape
from trunkline.svn.gateway.channel import Channel
from trunkline.svn.gateway.exchange import Exchange
from trunkline.svn.gateway.failure import XML
from trunkline.svn.gateway.message import Body, Headers, Request, response
from trunkline.svn.gateway.upstream import Repository

PATHS_LIMIT = 1000  # of a commit's, that are compared
REVISIONS_LIMIT = 1000  # that are looked at
REPLY_LIMIT = 64 << 20  # bytes

PROPFIND = b'<propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>'
LOG = b"""<S:log-report xmlns:S="svn:"><S:start-revision>%d</S:start-revision>\
<S:end-revision>%d</S:end-revision><S:limit>%d</S:limit><S:discover-changed-paths/>\
<S:revprop>svn:author</S:revprop><S:revprop>svn:date</S:revprop><S:revprop>svn:log</S:revprop>\
<S:path></S:path></S:log-report>"""


@dataclass
class Trace:
    """What a revision is known by again. `paths` are as in URLs, from the repository's root."""

    message: bytes
    author: bytes  # b"": not known
    since: int
    paths: set[bytes] = field(default_factory=set)

    def add(self, path: bytes) -> None:
        if len(self.paths) < PATHS_LIMIT and path:
            self.paths.add(path)


@dataclass(frozen=True)
class Found:
    revision: bytes
    author: bytes
    date: bytes

    def format(self) -> bytes:
        """As MERGE is answered. Source: subversion 1.14, mod_dav_svn/merge.c."""
        body = (
            b'<?xml version="1.0" encoding="utf-8"?>\n'
            b'<D:merge-response xmlns:D="DAV:"><D:updated-set><D:response>'
            b"<D:href>/</D:href><D:propstat><D:prop>"
            b"<D:resourcetype><D:baseline/></D:resourcetype>"
            b"<D:version-name>%s</D:version-name><D:creationdate>%s</D:creationdate>"
            b"<D:creator-displayname>%s</D:creator-displayname>"
            b"</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>"
            b"</D:response></D:updated-set></D:merge-response>"
        )
        return response(200, [XML], body % (self.revision, self.date, escape(self.author)))


def make_trace(post: Request, since: int) -> Trace:
    """Of what the POST says."""
    message = b""
    try:
        skel: Skel = parse_skel(post.body.read())
        if isinstance(skel, list) and len(skel) == 2:
            message = dict(parse_properties(skel[1])).get(b"svn:log", b"")
    except PeerError:
        pass
    scheme, _, value = (post.header(b"authorization") or b"").partition(b" ")
    author = b""
    if scheme.lower() == b"basic":
        try:
            author = base64.b64decode(value).partition(b":")[0]
        except ValueError:
            pass
    return Trace(message, author, since)


async def is_open(channel: Channel, resource: bytes, headers: Headers) -> bool:
    """Is the transaction still there? Raises: UpstreamLost."""
    asked = Request(b"PROPFIND", resource, [*headers, (b"Depth", b"0"), XML], Body(PROPFIND))
    exchange = Exchange(asked)
    channel.send(exchange)
    await exchange.whole()
    assert exchange.head is not None
    return exchange.head.status == 207


async def find(
    channel: Channel, repository: Repository, trace: Trace, headers: Headers
) -> Found | None:
    """Raises: UpstreamLost."""
    first, last = trace.since + 1, await youngest(channel, repository, headers)
    if last < first:
        return None
    target = b"%s/%d" % (repository.rvr, last)
    body = Body(LOG % (last, first, REVISIONS_LIMIT))
    exchange = Exchange(Request(b"REPORT", target, [*headers, XML], body))
    channel.send(exchange)
    blocks, size = [], 0
    while block := await exchange.read():
        size += len(block)
        blocks.append(block)
        if size > REPLY_LIMIT:
            return None
    try:
        report = parse(blocks, REPLY_LIMIT)
    except PeerError:
        return None
    for item in report.all("log-item") if report is not None else ():
        if is_it(item, trace, repository):
            return Found(
                item.child_text("version-name") or b"",
                item.child_text("creator-displayname") or b"",
                item.child_text("date") or b"",
            )
    return None


def is_it(item: Element, trace: Trace, repository: Repository) -> bool:
    comment = item.child("comment")
    if (comment.text if comment is not None else b"") != trace.message:
        return False
    author = item.child_text("creator-displayname") or b""
    if trace.author and author and author != trace.author:
        return False
    changed = {child.text for child in item.children if child.name.endswith("-path")}
    return trace.paths <= changed


async def youngest(channel: Channel, repository: Repository, headers: Headers) -> int:
    body = Body(b'<D:options xmlns:D="DAV:"><D:activity-collection-set/></D:options>')
    exchange = Exchange(Request(b"OPTIONS", repository.root, [*headers, XML], body))
    channel.send(exchange)
    await exchange.whole()
    assert exchange.head is not None
    learnt = channel.upstream.learn(exchange.head)
    return learnt.youngest if learnt is not None else 0
