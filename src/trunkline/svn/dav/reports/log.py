"""log-report. Source: subversion 1.14, mod_dav_svn/reports/log.c."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

from trunkline.errors import PeerError
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import XML_HEAD
from trunkline.svn.dav.pushed import Output
from trunkline.svn.dav.reports.arguments import number, own_path, revision
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.url import join
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.dav.xml_out import escape, is_safe, printable, quote_attr
from trunkline.svn.repository.log import Change, Entry, Listener, LogWish, read_log
from trunkline.svn.repository.nodes import Kind

FIRST = 1, 4, 16, 64  # entries; the first ones are sent at once
TAGS = {
    b"svn:log": b"D:comment",
    b"svn:author": b"D:creator-displayname",
    b"svn:date": b"S:date",
}
KINDS = {Kind.FILE: b"file", Kind.DIR: b"dir"}
DEFAULT_REVPROPS = (b"svn:author", b"svn:date", b"svn:log")


def log_report(exchange: Exchange, root: Element) -> Answer:
    wish = read_wish(exchange, root)
    is_binary = root.child("encode-binary-props") is not None

    def produce(output: Output) -> None:
        writer = Writer(output, is_binary, exchange.session.may_read)
        output.write(XML_HEAD + b'<S:log-report xmlns:S="svn:" xmlns:D="DAV:">\n')
        read_log(exchange.session, wish, Listener(writer.change, writer.entry))
        output.write(b"</S:log-report>\n")

    return exchange.push_xml(produce)


def read_wish(exchange: Exchange, root: Element) -> LogWish:
    base = own_path(exchange)
    paths = [join(base, one.text.strip(b"/")) for one in root.all("path")] or [base]
    revprops: list[bytes] | None = [one.text for one in root.all("revprop")]
    if root.child("all-revprops") is not None:
        revprops = None
    elif not revprops and root.child("no-revprops") is None:
        revprops = list(DEFAULT_REVPROPS)
    limit = number(root, "limit", 0)
    if limit > 2**31 - 1:
        raise PeerError("log-report: a limit that is no number")
    return LogWish(
        paths=paths,
        start=revision(root, "start-revision"),
        end=revision(root, "end-revision"),
        limit=limit,
        strict=root.child("strict-node-history") is not None,
        with_merged=root.child("include-merged-revisions") is not None,
        revprops=revprops,
        with_changes=root.child("discover-changed-paths") is not None,
    )


class Writer:
    def __init__(self, output: Output, is_binary: bool, may_read: Callable[[bytes], bool]) -> None:
        self._output = output
        self._may_read = may_read
        self._is_binary = is_binary
        self._count = 0
        self._depth = 0  # of merged revisions within merged revisions
        self._changes: list[bytes] = []

    def change(self, change: Change) -> None:
        tag = b"S:%s-path" % NAMES[change.kind]
        source = b""
        # libsvn before 1.14.2 tells of sources that may not be read (CVE-2021-28544).
        is_copied = change.kind in ("add", "replace")
        if change.source is not None and is_copied and self._may_read(change.source):
            words = quote_attr(change.source)
            source = b' copyfrom-path="%s" copyfrom-rev="%d"' % (words, change.source_rev)
        self._changes.append(
            b'<%s%s node-kind="%s" text-mods="%s" prop-mods="%s">%s</%s>\n'
            % (
                tag,
                source,
                KINDS.get(change.node_kind, b""),
                truth(change.text_mods),
                truth(change.prop_mods),
                escape(change.path),
                tag,
            )
        )

    def entry(self, entry: Entry) -> None:
        if entry.revision < 0:
            if not self._depth:
                return  # the end of the whole, which clients don't expect
            self._depth -= 1
        self._depth += entry.has_children
        pieces = [b"<S:log-item>\n<D:version-name>%d</D:version-name>\n" % entry.revision]
        pieces += [self._revprop(name, value) for name, value in entry.revprops.items()]
        if entry.has_children:
            pieces.append(b"<S:has-children/>\n")
        if entry.subtractive_merge:
            pieces.append(b"<S:subtractive-merge/>\n")
        pieces += self._changes
        pieces.append(b"</S:log-item>\n")
        self._changes.clear()
        self._output.write(b"".join(pieces))
        self._count += 1
        if self._count in FIRST:
            self._output.flush()

    def _revprop(self, name: bytes, value: bytes) -> bytes:
        tag = TAGS.get(name)
        start = tag or b'S:revprop name="%s"' % quote_attr(name)
        end = tag or b"S:revprop"
        if is_safe(value):
            return b"<%s>%s</%s>\n" % (start, escape(value), end)
        if self._is_binary:
            return b'<%s encoding="base64">%s</%s>\n' % (start, b64encode(value), end)
        return b"<%s>%s</%s>\n" % (start, printable(value), end)


NAMES = {
    "modify": b"modified",
    "add": b"added",
    "delete": b"deleted",
    "replace": b"replaced",
    "reset": b"modified",
}


def truth(value: bool) -> bytes:
    return b"true" if value else b"false"
