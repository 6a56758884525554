"""update-report: checkout, update, switch, diff and status.

The report is read while it comes, the answer written while libsvn drives: neither is held.
Source: subversion 1.14, mod_dav_svn/reports/update.c; libsvn_ra_serf/update.c.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trunkline.errors import PeerError
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import XML_HEAD
from trunkline.svn.dav.pushed import Output
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.svndiff import Base64Writer
from trunkline.svn.dav.url import join, relative, resource_of_url, versioned
from trunkline.svn.dav.xml_in import Element, Parser
from trunkline.svn.dav.xml_out import escape, is_safe, quote_attr
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.editor import SvndiffWriter
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.nodes import node_at
from trunkline.svn.repository.sizes import usual_size
from trunkline.svn.repository.update import DEPTHS, Report, Wish

NO = b"no"
# Bytes of a file, usually: from there on a request for each is cheaper than base64 for all.
LARGE = 128 * 1024


@dataclass
class Manner:
    """How the answer is to be written."""

    send_all: bool
    inline_props: bool
    version: int | None
    level: int
    word: bytes  # of the URLs that the client is told: rvr, or ver for HTTP v1


def update_report(exchange: Exchange, parser: Parser, rest: Any) -> Answer:
    """`parser` has read the start of the root element, `rest` are the blocks that follow."""
    reader = Reader(exchange)
    parser.set_on_child(reader.child)
    try:
        for block in rest:
            parser.feed(block)
        parser.feed(b"", is_last=True)
        report, editor = reader.done()
    except BaseException:
        reader.abort()
        raise

    def produce(output: Output) -> None:
        with report:
            editor.output = output
            report.finish()
            output.write(b"</S:update-report>\n")

    return exchange.push_xml(produce)


class Reader:
    """Of the request: settings first, then what the client has."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._head: dict[str, bytes] = {}
        self._report: Report | None = None
        self._editor: Writer | None = None
        self._root: Element | None = None

    def child(self, root: Element, one: Element) -> bool:
        self._root = root
        if one.name == "entry":
            self._entry(one)
        elif one.name == "missing":
            self._begun().delete_path(clean_relative(one.text))
        elif self._report is None:
            # What changes the drive must come before the first entry.
            self._head[one.name] = one.text.strip()
        return True

    def _entry(self, one: Element) -> None:
        revision = one.attrs.get("rev", "")
        if not revision.isdigit() or len(revision) > 10:
            raise PeerError("update-report: an entry without a revision")
        link = one.attr("linkpath")
        path = clean_relative(one.text)
        starts_empty = one.attrs.get("start-empty") is not None
        report = self._begun(gets_all=starts_empty and not path and link is None)
        if link is not None and self._editor is not None:
            self._editor.link(path, b"/" + relative(link))
        report.set_path(
            path,
            int(revision),
            read_depth(one.attr("depth"), DEPTHS[b"infinity"]),
            starts_empty,
            one.attr("lock-token"),
            None if link is None else b"/" + relative(link),
        )

    def _begun(self, gets_all: bool = False) -> Report:
        """`gets_all`: the first entry says that the client has nothing yet."""
        if self._report is None:
            wish = self._read_wish()
            manner = self._manner(wish, gets_all)
            self._editor = Writer(self._exchange, wish, manner)
            self._report = Report(self._exchange.session, wish, self._editor)
        return self._report

    def _read_wish(self) -> Wish:
        head, exchange = self._head, self._exchange
        base = exchange.request.base
        if "src-path" not in head:
            raise PeerError("update-report: no src-path")
        anchor = resource_of_url(base, head["src-path"]).path
        other = None
        if head.get("dst-path"):
            other = resource_of_url(base, head["dst-path"]).path
        target = head.get("update-target", b"")
        revision = exchange.youngest
        if head.get("target-revision"):
            revision = int(head["target-revision"]) if head["target-revision"].isdigit() else -1
        check_revision(revision, exchange.youngest)
        default = DEPTHS[b"files"] if head.get("recursive") == NO else DEPTHS[b"infinity"]
        return Wish(
            revision=revision,
            anchor=anchor,
            target=target,
            other=other,
            depth=read_depth(head.get("depth"), default),
            with_texts=head.get("text-deltas") != NO,
            ignore_ancestry=head.get("ignore-ancestry", NO) != NO,
            with_copyfrom=head.get("send-copyfrom-args", NO) != NO,
        )

    def _manner(self, wish: Wish, gets_all: bool) -> Manner:
        exchange = self._exchange
        sends_all = (
            self._root is not None
            and self._root.attrs.get("send-all") == "true"
            and exchange.served.bulk != b"Off"
        )
        if sends_all and gets_all and exchange.served.bulk == b"Prefer":
            top = join(wish.anchor, wish.target) if wish.other is None else wish.other
            sends_all = usual_size(exchange.session, wish.revision, top) < LARGE
        return Manner(
            send_all=sends_all,
            inline_props=self._head.get("include-props", NO) != NO,
            version=exchange.svndiff_version() or 0,
            level=exchange.served.compression,
            word=b"rvr" if exchange.resource.kind == "me" else b"ver",
        )

    def done(self) -> tuple[Report, Writer]:
        report = self._begun()
        assert self._editor is not None
        return report, self._editor

    def abort(self) -> None:
        if self._report is not None:
            self._report.__exit__(None, None, None)


def check_revision(revision: int, youngest: int) -> None:
    if not 0 <= revision <= youngest:
        raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {revision}")


def clean_relative(path: bytes) -> bytes:
    names = [name for name in path.split(b"/") if name]
    if b"." in names or b".." in names:
        raise PeerError("update-report: a path with a relative name")
    return b"/".join(names)


def read_depth(word: bytes | None, default: int) -> int:
    if word is None:
        return default
    if word not in DEPTHS:
        raise PeerError("update-report: no such depth")
    return DEPTHS[word]


class Writer:
    """The answer, as libsvn drives. Paths are relative to the anchor of the drive."""

    def __init__(self, exchange: Exchange, wish: Wish, manner: Manner) -> None:
        self.output: Output = None  # type: ignore[assignment]
        self.svndiff_handle: object = None
        self._session = exchange.session
        self._base = exchange.request.base
        self._wish = wish
        self._manner = manner
        # Where the new tree has what the drive calls by a path below its root.
        self.links = {b"": wish.anchor}
        if wish.other is not None:
            self.links[wish.target] = wish.other
        self._dirs: list[bytes] = []  # tags to close, of folders that are open
        self._file = b""
        self._path = b""
        self._is_added = False
        self._has_text = False
        self._has_changed_props = False
        self._dir_added: list[bool] = []

    # -- where

    def link(self, path: bytes, target: bytes) -> None:
        """The client has `path`, below the target of the update, from another place."""
        self.links[join(self._wish.target, path) if self._wish.target else path] = target

    def _new_path(self, path: bytes) -> bytes:
        """In the revision that is driven to."""
        head, rest = path, b""
        while head not in self.links:
            head, _, name = head.rpartition(b"/")
            rest = join(name, rest)
        return join(self.links[head], rest)

    def _href(self, path: bytes) -> bytes:
        node = node_at(self._session, self._wish.revision, self._new_path(path))
        try:
            revision = node.safe_rev(self._wish.revision)
        except SvnError:  # the anchor may be gone by that revision
            revision = self._wish.revision
        url = versioned(self._base, self._manner.word, revision, node.path)
        return b"<D:checked-in><D:href>%s</D:href></D:checked-in>\n" % escape(url)

    # -- the edit

    def set_target_revision(self, revision: int) -> None:
        self.output.write(
            XML_HEAD + b'<S:update-report xmlns:S="svn:" '
            b'xmlns:V="http://subversion.tigris.org/xmlns/dav/" xmlns:D="DAV:"%s%s>\n'
            b'<S:target-revision rev="%d"/>\n'
            % (
                b' send-all="true"' if self._manner.send_all else b"",
                b' inline-props="true"' if self._manner.inline_props else b"",
                revision,
            )
        )

    def open_root(self, revision: int) -> None:
        self.output.write(b'<S:open-directory rev="%d">\n%s' % (revision, self._href(b"")))
        self._dirs.append(b"open-directory")
        self._dir_added.append(False)
        self._is_added = False

    def delete_entry(self, path: bytes, revision: int) -> None:
        self.output.write(
            b'<S:delete-entry name="%s" rev="%d"/>\n' % (quote_attr(last(path)), revision)
        )

    def add_dir(self, path: bytes, source: bytes | None, source_rev: int) -> None:
        bc = b""
        if self._manner.word == b"ver":
            url = versioned(self._base, b"bc", self._wish.revision, self._new_path(path))
            bc = b' bc-url="%s"' % quote_attr(url)
        self._open(b"add-directory", path, self._copyfrom(source, source_rev) + bc)
        self._dirs.append(b"add-directory")
        self._dir_added.append(True)
        self._is_added = True

    def open_dir(self, path: bytes, revision: int) -> None:
        self._open(b"open-directory", path, b' rev="%d"' % revision)
        self._dirs.append(b"open-directory")
        self._dir_added.append(False)
        self._is_added = False

    def close_dir(self) -> None:
        tag = self._dirs.pop()
        self._dir_added.pop()
        if self._has_changed_props:
            self._has_changed_props = False
            self.output.write(b"<S:fetch-props/>\n")
        self.output.write(b"</S:%s>\n" % tag)

    def absent(self, path: bytes, is_dir: bool) -> None:
        word = b"directory" if is_dir else b"file"
        self.output.write(b'<S:absent-%s name="%s"/>\n' % (word, quote_attr(last(path))))

    def add_file(self, path: bytes, source: bytes | None, source_rev: int) -> None:
        attributes = self._copyfrom(source, source_rev)
        if not self._manner.send_all:
            attributes += self._sha1(path)
        self._open(b"add-file", path, attributes)
        self._file, self._path = b"add-file", path
        self._is_added, self._has_text = True, False

    def open_file(self, path: bytes, revision: int) -> None:
        self._open(b"open-file", path, b' rev="%d"' % revision)
        self._file, self._path = b"open-file", path
        self._is_added, self._has_text = False, False

    def _open(self, tag: bytes, path: bytes, attributes: bytes) -> None:
        self._has_changed_props = False
        self.output.write(
            b'<S:%s name="%s"%s>\n%s' % (tag, quote_attr(last(path)), attributes, self._href(path))
        )

    def _copyfrom(self, source: bytes | None, source_rev: int) -> bytes:
        if source is None:
            return b""
        words = quote_attr(source)
        return b' copyfrom-path="%s" copyfrom-rev="%d"' % (words, source_rev)

    def _sha1(self, path: bytes) -> bytes:
        node = node_at(self._session, self._wish.revision, self._new_path(path))
        digest = node.checksum("sha1", force=False)
        return b' sha1-checksum="%s"' % digest if digest else b""

    def change_prop(self, name: bytes, value: bytes | None) -> None:
        manner = self._manner
        if self._is_added and not (manner.send_all or manner.inline_props):
            return  # the client fetches all properties of what is new
        if name.startswith(b"svn:entry:"):
            self.output.write(set_entry_prop(name, value))
            return
        self.output.write(set_prop(name, value))
        if not (manner.send_all or manner.inline_props):
            self._has_changed_props = True

    def apply_text(self, base_checksum: bytes | None) -> SvndiffWriter | None:
        manner = self._manner
        self._has_text = True
        self._base_checksum = base_checksum
        if not manner.send_all or manner.version is None:
            return None
        words = b' base-checksum="%s"' % base_checksum if base_checksum else b""
        self.output.write(b"<S:txdelta%s>" % words)
        output = self.output
        return Base64Writer(
            output, manner.version, manner.level, lambda: output.write(b"</S:txdelta>")
        )

    def close_file(self, checksum: bytes | None) -> None:
        pieces = []
        if not self._manner.send_all and not self._is_added and self._has_text:
            base = self._base_checksum
            words = b' base-checksum="%s"' % base if base else b""
            pieces.append(b"<S:fetch-file%s%s/>\n" % (words, self._sha1(self._path)))
        if self._has_changed_props and not self._is_added:
            pieces.append(b"<S:fetch-props/>\n")
        self._has_changed_props = False
        if checksum:
            pieces.append(b"<S:prop><V:md5-checksum>%s</V:md5-checksum></S:prop>\n" % checksum)
        pieces.append(b"</S:%s>\n" % self._file)
        self.output.write(b"".join(pieces))
        self._is_added = self._dir_added[-1]

    def close_edit(self) -> None:
        pass


@lru_cache(maxsize=1024)
def set_entry_prop(name: bytes, value: bytes | None) -> bytes:
    """Revisions, dates and authors come again and again."""
    return set_prop(name, value)


def set_prop(name: bytes, value: bytes | None) -> bytes:
    words = quote_attr(name)
    if value is None:
        return b'<S:remove-prop name="%s"/>\n' % words
    if is_safe(value):
        return b'<S:set-prop name="%s">%s</S:set-prop>\n' % (words, escape(value))
    text = b64encode(value)
    return b'<S:set-prop name="%s" encoding="base64">%s</S:set-prop>\n' % (words, text)


def last(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]
