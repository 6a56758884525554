"""file-revs-report: blame. Source: subversion 1.14, mod_dav_svn/reports/file-revs.c."""

from __future__ import annotations

from base64 import b64encode

from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import XML_HEAD
from trunkline.svn.dav.pushed import Output
from trunkline.svn.dav.reports.arguments import path_in, revision
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.svndiff import Base64Writer
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.dav.xml_out import escape, is_safe, quote_attr
from trunkline.svn.repository.editor import SvndiffWriter
from trunkline.svn.repository.library import Pool
from trunkline.svn.repository.log import read_file_revs


def file_revs(exchange: Exchange, root: Element) -> Answer:
    path = path_in(exchange, root)
    start, end = revision(root, "start-revision"), revision(root, "end-revision")
    with_merged = root.child("include-merged-revisions") is not None
    level = exchange.served.compression
    version = exchange.svndiff_version() or 0

    def produce(output: Output) -> None:
        writer = Writer(output, version, level)
        output.write(XML_HEAD + b'<S:file-revs-report xmlns:S="svn:" xmlns:D="DAV:">\n')
        read_file_revs(exchange.session, path, start, end, with_merged, writer)
        output.write(b"</S:file-revs-report>\n")

    return exchange.push_xml(produce)


class Writer:
    def __init__(self, output: Output, version: int, level: int) -> None:
        self.svndiff_handle: object = None
        self.pool: Pool
        self._output = output
        self._version = version
        self._level = level

    def revision(
        self,
        path: bytes,
        revision: int,
        revprops: dict[bytes, bytes],
        prop_changes: list[tuple[bytes, bytes | None]],
        is_merged: bool,
        has_text: bool,
    ) -> SvndiffWriter | None:
        pieces = [b'<S:file-rev path="%s" rev="%d">\n' % (quote_attr(path), revision)]
        pieces += [prop(b"S:rev-prop", *item) for item in revprops.items()]
        for name, value in prop_changes:
            if value is None:
                pieces.append(b'<S:remove-prop name="%s"/>\n' % quote_attr(name))
            else:
                pieces.append(prop(b"S:set-prop", name, value))
        if is_merged:
            pieces.append(b"<S:merged-revision/>\n")
        pieces.append(b"<S:txdelta>" if has_text else b"</S:file-rev>\n")
        self._output.write(b"".join(pieces))
        return Base64Writer(self._output, self._version, self._level, self._end)

    def _end(self) -> None:
        self._output.write(b"</S:txdelta></S:file-rev>\n")


def prop(tag: bytes, name: bytes, value: bytes) -> bytes:
    words = quote_attr(name)
    if is_safe(value):
        return b'<%s name="%s">%s</%s>\n' % (tag, words, escape(value), tag)
    return b'<%s name="%s" encoding="base64">%s</%s>\n' % (tag, words, b64encode(value), tag)
