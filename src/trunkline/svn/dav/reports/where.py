"""Reports on where and when: dated-rev, get-locations, get-location-segments, get-deleted-rev."""

from __future__ import annotations

from trunkline.errors import PeerError
from trunkline.reply import Bytes
from trunkline.svn.dav.dates import parse_iso
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import XML_HEAD, XML_TYPE
from trunkline.svn.dav.pushed import Output
from trunkline.svn.dav.reports.arguments import number, parse_number, path_in, revision
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.dav.xml_out import quote_attr
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.history import (
    Segment,
    dated_revision,
    deleted_revision,
    located,
    segments,
)

OPEN = b' xmlns:S="svn:" xmlns:D="DAV:">\n'


def xml(body: bytes) -> Answer:
    return Answer(200, [(b"content-type", XML_TYPE)], Bytes(XML_HEAD + body))


def dated_rev(exchange: Exchange, root: Element) -> Answer:
    moment = parse_iso(root.child_text("creationdate", b"") or b"")
    if moment is None:
        raise PeerError("dated-rev-report: no valid creationdate")
    found = dated_revision(exchange.session, moment)
    name = b"<D:version-name>%d</D:version-name>" % found
    return xml(b"<S:dated-rev-report%s%s</S:dated-rev-report>\n" % (OPEN, name))


def get_locations(exchange: Exchange, root: Element) -> Answer:
    path = path_in(exchange, root)
    peg = number(root, "peg-revision")
    asked = [parse_number(one.text, "location-revision") for one in root.all("location-revision")]
    found = located(exchange.session, path, peg, asked)
    lines = [
        b'<S:location rev="%d" path="%s"/>\n' % (rev, quote_attr(found[rev]))
        for rev in sorted(found)
    ]
    body = b"".join(lines)
    return xml(b"<S:get-locations-report%s%s</S:get-locations-report>\n" % (OPEN, body))


def location_segments(exchange: Exchange, root: Element) -> Answer:
    path = path_in(exchange, root)
    peg = revision(root, "peg-revision")
    start, end = revision(root, "start-revision"), revision(root, "end-revision")

    def produce(output: Output) -> None:
        output.write(XML_HEAD + b"<S:get-location-segments-report" + OPEN)

        def give(segment: Segment) -> None:
            words = b""
            if segment.path is not None:
                words = b' path="%s"' % quote_attr(segment.path)
            output.write(
                b'<S:location-segment%s range-start="%d" range-end="%d"/>\n'
                % (words, segment.first, segment.last)
            )

        segments(exchange.session, path, peg, start, end, give)
        output.write(b"</S:get-location-segments-report>\n")

    return exchange.push_xml(produce)


def deleted_rev(exchange: Exchange, root: Element) -> Answer:
    path = path_in(exchange, root)
    peg, end = number(root, "peg-revision"), number(root, "end-revision")
    found = deleted_revision(exchange.session, path, peg, end)
    if not exchange.session.may_read(path):
        raise SvnError(codes.RA_NOT_AUTHORIZED, "Access denied")
    name = b"<D:version-name>%d</D:version-name>" % found
    return xml(b"<S:get-deleted-rev-report%s%s</S:get-deleted-rev-report>\n" % (OPEN, name))
