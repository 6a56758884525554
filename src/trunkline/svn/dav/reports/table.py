"""Every report and what answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from trunkline.errors import PeerError
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import Bare
from trunkline.svn.dav.reports.file_revs import file_revs
from trunkline.svn.dav.reports.log import log_report
from trunkline.svn.dav.reports.replay import replay_report
from trunkline.svn.dav.reports.tree import (
    get_locks_report,
    inherited_props_report,
    list_report,
    mergeinfo_report,
)
from trunkline.svn.dav.reports.update import update_report
from trunkline.svn.dav.reports.where import (
    dated_rev,
    deleted_rev,
    get_locations,
    location_segments,
)
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.xml_in import Element, Parser
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.nodes import Kind

REPORTS: dict[str, Callable[[Exchange, Element], Answer]] = {
    "dated-rev-report": dated_rev,
    "file-revs-report": file_revs,
    "get-deleted-rev-report": deleted_rev,
    "get-location-segments": location_segments,
    "get-locations": get_locations,
    "get-locks-report": get_locks_report,
    "inherited-props-report": inherited_props_report,
    "list-report": list_report,
    "log-report": log_report,
    "mergeinfo-report": mergeinfo_report,
    "replay-report": replay_report,
}


def report(exchange: Exchange) -> Answer:
    blocks = iter(exchange.request.blocks)
    parser = Parser(exchange.served.report_limit)
    read_root(parser, blocks)
    root = parser.open_root
    assert root is not None
    if root.name == "update-report":
        return update_report(exchange, parser, blocks)
    run = REPORTS.get(root.name)
    if run is None:
        raise SvnError(codes.UNSUPPORTED_FEATURE, "The requested report is unknown.")
    parser.lower_limit(exchange.served.xml_limit)
    for block in blocks:
        parser.feed(block)
    parser.feed(b"", is_last=True)
    resource = exchange.resource
    if resource.kind in ("rvr", "bc", "ver") and exchange.node().kind() is Kind.NONE:
        raise Bare(404)
    return run(exchange, root)


def read_root(parser: Parser, blocks: Iterable[bytes] | Iterator[bytes]) -> None:
    """Until the root element has begun."""
    for block in blocks:
        parser.feed(block)
        if parser.open_root is not None:
            return
    raise PeerError("REPORT: the body has no XML")
