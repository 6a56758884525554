"""Reports on a tree: list, mergeinfo, inherited-props, get-locks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from trunkline.errors import PeerError
from trunkline.svn.dav.dates import format_iso
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.names import DAV, NS_DAV, XML_HEAD
from trunkline.svn.dav.pushed import Output
from trunkline.svn.dav.reports.arguments import number, own_path, path_in, revision
from trunkline.svn.dav.reports.where import OPEN, xml
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.url import join
from trunkline.svn.dav.xml_in import Element
from trunkline.svn.dav.xml_out import element, escape, filtered
from trunkline.svn.repository.listing import inherited_props, list_tree, merged_ranges
from trunkline.svn.repository.locks import locks_below
from trunkline.svn.repository.nodes import Kind, Stat
from trunkline.svn.repository.update import DEPTHS
from trunkline.svn.repository.walk import REVISIONS_KEPT, Facts, Named, walk

AT_ONCE = 500  # nodes
OPENED = {Kind.FILE: b'<S:item node-kind="file"', Kind.DIR: b'<S:item node-kind="dir"'}
BARE = {kind: word + b">%s</S:item>\n" for kind, word in OPENED.items()}
INHERIT = {b"explicit": 0, b"inherited": 1, b"nearest-ancestor": 2}


def list_report(exchange: Exchange, root: Element) -> Answer:
    path, at = path_in(exchange, root), revision(root, "revision")
    depth = root.child_text("depth", b"infinity") or b""
    if depth not in DEPTHS:
        raise PeerError("list-report: no such depth")
    patterns = [one.text for one in root.all("pattern")]
    if root.child("no-patterns") is not None:
        wanted: list[bytes] | None = []
    else:
        wanted = patterns or None
    asked = Fields({one.text.decode() for one in root.all("prop")})
    session = exchange.session
    top = session.root(exchange.youngest if at < 0 else at)
    if wanted is None:
        nodes = walk(session, top, path, DEPTHS[depth])
        return exchange.stream_xml(list_blocks(nodes, asked, Facts(session, top)))

    def produce(output: Output) -> None:
        output.write(XML_HEAD + b"<S:list-report" + OPEN)
        list_tree(
            session,
            top,
            path,
            wanted,
            DEPTHS[depth],
            not asked.more,
            lambda below, stat: output.write(asked.item(escape(below), stat)),
        )
        output.write(b"</S:list-report>\n")

    return exchange.push_xml(produce)


def list_blocks(nodes: Iterator[Named], asked: Fields, facts: Facts) -> Iterator[bytes]:
    start = XML_HEAD + b"<S:list-report" + OPEN
    while some := list(islice(nodes, AT_ONCE)):
        yield start + asked.items(some, facts)
        start = b""
    yield start + b"</S:list-report>\n"


class Fields:
    """Which of a node's facts were asked for: namespace and name in one word."""

    def __init__(self, asked: set[str]) -> None:
        everything = DAV + "allprop" in asked
        self.size = everything or DAV + "getcontentlength" in asked
        self.props = everything or NS_DAV + "deadprop-count" in asked
        self.rev = everything or DAV + "version-name" in asked
        self.date = everything or DAV + "creationdate" in asked
        self.author = everything or DAV + "creator-displayname" in asked
        self.more = self.size or self.props or self.rev or self.date or self.author
        self._commits: dict[int, tuple[bytes, bytes]] = {}

    def items(self, nodes: list[Named], facts: Facts) -> bytes:
        # Escaped at once: no name has a NUL.
        paths = escape(b"\0".join([path for path, _ in nodes])).split(b"\0")
        if not self.more:
            kinds = [kind for _, kind in nodes]
            return b"".join([BARE[kind] % path for path, kind in zip(paths, kinds, strict=True)])
        stats = facts.of(nodes)
        return b"".join([self.item(path, stat) for path, stat in zip(paths, stats, strict=True)])

    def item(self, path: bytes, stat: Stat) -> bytes:
        """`path` is escaped."""
        start = OPENED[stat.kind]
        if self.size:
            start += b' size="%d"' % stat.size
        if self.props:
            start += b' has-props="true"' if stat.has_props else b' has-props="false"'
        commit, author = self.commit(stat.created_rev, stat.time, stat.author)
        return b"%s%s>%s%s</S:item>\n" % (start, commit, path, author)

    def commit(self, revision: int, time: int | None, name: bytes | None) -> tuple[bytes, bytes]:
        """Attributes and element; the same revisions come again and again."""
        known = self._commits.get(revision)
        if known is not None:
            return known
        if len(self._commits) >= REVISIONS_KEPT:
            self._commits.clear()
        words = b' created-rev="%d"' % revision if self.rev else b""
        if self.date and time:
            words += b' date="%s"' % format_iso(time)
        author = b""
        if self.author and name is not None:
            author = b"<D:creator-displayname>%s</D:creator-displayname>" % filtered(name)
        found = self._commits[revision] = words, author
        return found


def mergeinfo_report(exchange: Exchange, root: Element) -> Answer:
    base = own_path(exchange)
    at = revision(root, "revision")
    inherit = root.child_text("inherit", b"explicit") or b"explicit"
    if inherit not in INHERIT:
        raise PeerError("mergeinfo-report: no such inheritance")
    paths = [join(base, one.text.strip(b"/")) for one in root.all("path")]
    with_descendants = root.child_text("include-descendants", b"no") == b"yes"
    items = []
    for path, ranges in merged_ranges(
        exchange.session, paths, at, INHERIT[inherit], with_descendants
    ):
        below = path[len(base.rstrip(b"/")) :].lstrip(b"/")
        items.append(
            b"<S:mergeinfo-item>\n<S:mergeinfo-path>%s</S:mergeinfo-path>\n"
            b"<S:mergeinfo-info>%s</S:mergeinfo-info>\n</S:mergeinfo-item>\n"
            % (escape(below), escape(ranges))
        )
    return xml(b"<S:mergeinfo-report%s%s</S:mergeinfo-report>\n" % (OPEN, b"".join(items)))


def inherited_props_report(exchange: Exchange, root: Element) -> Answer:
    path, at = path_in(exchange, root), number(root, "revision")
    items = []
    for owner, props in inherited_props(exchange.session, at, path):
        words = [
            b"<S:iprop-propname>%s</S:iprop-propname>\n%s\n"
            % (escape(name), element(b"S:iprop-propval", value))
            for name, value in props.items()
        ]
        name = escape(owner.lstrip(b"/"))
        items.append(
            b"<S:iprop-item>\n<S:iprop-path>%s</S:iprop-path>\n%s</S:iprop-item>\n"
            % (name, b"".join(words))
        )
    body = b"".join(items)
    return xml(b"<S:inherited-props-report%s%s</S:inherited-props-report>\n" % (OPEN, body))


def get_locks_report(exchange: Exchange, root: Element) -> Answer:
    depth = root.attr("depth") or b"infinity"
    if depth not in DEPTHS:
        raise PeerError("get-locks-report: no such depth")
    items = []
    for lock in locks_below(exchange.session, own_path(exchange), DEPTHS[depth]):
        items.append(
            b"<S:lock>\n<S:path>%s</S:path>\n<S:token>%s</S:token>\n"
            b"<S:creationdate>%s</S:creationdate>\n"
            % (escape(lock.path), escape(lock.token), format_iso(lock.created))
        )
        if lock.expires:
            items.append(b"<S:expirationdate>%s</S:expirationdate>\n" % format_iso(lock.expires))
        items.append(element(b"S:owner", lock.owner))
        if lock.comment is not None:
            items.append(element(b"S:comment", lock.comment))
        items.append(b"</S:lock>\n")
    return xml(b"<S:get-locks-report%s%s</S:get-locks-report>\n" % (OPEN, b"".join(items)))
