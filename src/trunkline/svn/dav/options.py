"""OPTIONS: what this server and this repository can do, and where its resources are."""

from __future__ import annotations

from trunkline.reply import Bytes
from trunkline.svn.commit.names import POST_NAME
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import ALWAYS_CAPABLE, DAV_CLASSES, TOKEN, XML_HEAD, XML_TYPE
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.url import special

ALLOW = (
    b"OPTIONS,GET,HEAD,POST,DELETE,TRACE,PROPFIND,PROPPATCH,COPY,MOVE,LOCK,UNLOCK,CHECKOUT,"
    b"CHECKIN,REPORT,MKACTIVITY,MKCOL,PUT,MERGE"
)


V2_ONLY = ("ephemeral-txnprops", "replay-rev-resource")


def options(exchange: Exchange) -> Answer:
    """A path that isn't there is answered all the same: clients open sessions on such."""
    base = exchange.request.base
    has_mergeinfo = exchange.session.has_mergeinfo()
    exchange.resource  # noqa: B018 -- refuses what is no path
    asked = exchange.xml()
    headers = [(b"dav", word.encode()) for word in DAV_CLASSES]
    tokens = [*ALWAYS_CAPABLE, *(["mergeinfo"] if has_mergeinfo else [])]
    if not exchange.served.is_v2:
        tokens = [word for word in tokens if word not in V2_ONLY]
    headers += [(b"dav", (TOKEN + word).encode()) for word in tokens]
    headers += [(b"ms-author-via", b"DAV"), (b"allow", ALLOW)]
    headers += [
        (b"svn-youngest-rev", b"%d" % exchange.youngest),
        (b"svn-repository-uuid", exchange.session.uuid),
        (b"svn-repository-mergeinfo", b"yes" if has_mergeinfo else b"no"),
        (b"svn-allow-bulk-updates", exchange.served.bulk),
    ]
    if exchange.served.is_v2:
        headers += stubs(base)
    if asked is None or asked.child("activity-collection-set") is None:
        return Answer(200, headers)
    body = (
        XML_HEAD + b'<D:options-response xmlns:D="DAV:">\n<D:activity-collection-set><D:href>'
        b"%s/</D:href></D:activity-collection-set></D:options-response>\n" % special(base, b"act")
    )
    return Answer(200, [*headers, (b"content-type", XML_TYPE)], Bytes(body))


def stubs(base: bytes) -> list[tuple[bytes, bytes]]:
    """`svn-me-resource` is what makes a client speak HTTP v2."""
    return [
        (b"svn-repository-root", base or b"/"),
        (b"svn-me-resource", special(base, b"me")),
        (b"svn-rev-root-stub", special(base, b"rvr")),
        (b"svn-rev-stub", special(base, b"rev")),
        (b"svn-txn-root-stub", special(base, b"txr")),
        (b"svn-txn-stub", special(base, b"txn")),
        (b"svn-vtxn-root-stub", special(base, b"vtxr")),
        (b"svn-vtxn-stub", special(base, b"vtxn")),
        (b"svn-supported-posts", b"create-txn"),
        (b"svn-supported-posts", b"create-txn-with-props"),
        (b"svn-supported-posts", POST_NAME),
    ]
