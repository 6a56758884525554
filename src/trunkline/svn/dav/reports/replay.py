"""replay-report: one revision as an editor's drive, for svnsync and svnrdump.

Source: subversion 1.14, mod_dav_svn/reports/replay.c.
"""

from __future__ import annotations

from base64 import b64encode

from trunkline.errors import PeerError
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import XML_HEAD
from trunkline.svn.dav.pushed import Output
from trunkline.svn.dav.reports.arguments import own_path, revision
from trunkline.svn.dav.reports.update import check_revision
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.svndiff import Base64Writer
from trunkline.svn.dav.url import join
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.dav.xml_out import quote_attr
from trunkline.svn.repository.editor import SvndiffWriter
from trunkline.svn.repository.replay import replay


def replay_report(exchange: Exchange, root: Element) -> Answer:
    resource = exchange.resource
    at = revision(root, "revision")
    if resource.kind == "rev" and resource.revision is not None:
        at = resource.revision
    low = revision(root, "low-water-mark")
    if at < 0 or low < 0:
        raise PeerError("replay-report: no revision, or no low-water-mark")
    check_revision(at, exchange.youngest)
    base = join(own_path(exchange), (root.child_text("include-path", b"") or b"").strip(b"/"))
    with_deltas = (root.child_text("send-deltas", b"0") or b"0") != b"0"
    level = exchange.served.compression
    version = exchange.svndiff_version() or 0

    def produce(output: Output) -> None:
        writer = Writer(output, version, level)
        output.write(XML_HEAD + b'<S:editor-report xmlns:S="svn:">\n')
        replay(exchange.session, at, base, low, with_deltas, writer)
        output.write(b"</S:editor-report>\n")

    return exchange.push_xml(produce)


class Writer:
    """Flat: each call is one element."""

    def __init__(self, output: Output, version: int, level: int) -> None:
        self.svndiff_handle: object = None
        self._output = output
        self._version = version
        self._level = level
        self._is_file = False

    def _write(self, line: bytes) -> None:
        self._output.write(line)

    def set_target_revision(self, revision: int) -> None:
        self._write(b'<S:target-revision rev="%d"/>\n' % revision)

    def open_root(self, revision: int) -> None:
        self._is_file = False
        self._write(b'<S:open-root rev="%d"/>\n' % revision)

    def delete_entry(self, path: bytes, revision: int) -> None:
        self._write(b'<S:delete-entry name="%s" rev="%d"/>\n' % (quote_attr(path), revision))

    def add_dir(self, path: bytes, source: bytes | None, source_rev: int) -> None:
        self._is_file = False
        words = copyfrom(source, source_rev)
        self._write(b'<S:add-directory name="%s"%s/>\n' % (quote_attr(path), words))

    def open_dir(self, path: bytes, revision: int) -> None:
        self._is_file = False
        self._write(b'<S:open-directory name="%s" rev="%d"/>\n' % (quote_attr(path), revision))

    def change_prop(self, name: bytes, value: bytes | None) -> None:
        tag = b"S:change-file-prop" if self._is_file else b"S:change-dir-prop"
        words = quote_attr(name)
        if value is None:
            self._write(b'<%s name="%s" del="true"/>\n' % (tag, words))
        else:
            self._write(b'<%s name="%s">%s</%s>\n' % (tag, words, b64encode(value), tag))

    def close_dir(self) -> None:
        self._write(b"<S:close-directory/>\n")

    def absent(self, path: bytes, is_dir: bool) -> None:
        word = b"directory" if is_dir else b"file"
        self._write(b'<S:absent-%s name="%s"/>\n' % (word, quote_attr(path)))

    def add_file(self, path: bytes, source: bytes | None, source_rev: int) -> None:
        self._is_file = True
        words = copyfrom(source, source_rev)
        self._write(b'<S:add-file name="%s"%s/>\n' % (quote_attr(path), words))

    def open_file(self, path: bytes, revision: int) -> None:
        self._is_file = True
        self._write(b'<S:open-file name="%s" rev="%d"/>\n' % (quote_attr(path), revision))

    def apply_text(self, base_checksum: bytes | None) -> SvndiffWriter:
        words = b' checksum="%s"' % base_checksum if base_checksum else b""
        self._write(b"<S:apply-textdelta%s>" % words)
        return Base64Writer(
            self._output,
            self._version,
            self._level,
            lambda: self._write(b"</S:apply-textdelta>\n"),
        )

    def close_file(self, checksum: bytes | None) -> None:
        self._is_file = False
        words = b' checksum="%s"' % checksum if checksum else b""
        self._write(b"<S:close-file%s/>\n" % words)

    def close_edit(self) -> None:
        pass


def copyfrom(source: bytes | None, source_rev: int) -> bytes:
    if source is None:
        return b""
    return b' copyfrom-path="%s" copyfrom-rev="%d"' % (quote_attr(source), source_rev)
