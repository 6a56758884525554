"""Tags: names for changesets, kept in the tracked file `.hgtags` and, unshared, in localtags.

Every head has its own `.hgtags`; they are merged, and the later line wins. A name that moved has
several lines, a deleted one ends with the null changeset.

Wire:   a line for each: hex node, space, name.
Source: hg 7.2.4, mercurial/tags.py.
"""

from __future__ import annotations

from binascii import unhexlify
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, Node
from trunkline.hg.store.hgtags_cache import read_hgtags_cache
from trunkline.hg.store.manifest import find
from trunkline.hg.store.revlog import CensoredRevision, Revlog

if TYPE_CHECKING:
    from trunkline.hg.store.repository import Repository
    from trunkline.hg.store.snapshot import Snapshot
    from trunkline.hg.store.view import View

TAG_FILE: Final = b".hgtags"
METADATA: Final = b"\x01\n"  # before and after a file revision's metadata (copies)


@dataclass(frozen=True, slots=True)
class Tag:
    """Where a name points, and where it pointed before (oldest first)."""

    node: Node
    history: tuple[Node, ...]


Tags = dict[bytes, Tag]
# The file node of each head's .hgtags, as found last time: manifests are costly to read.
_known: WeakKeyDictionary[Repository, dict[Node, Node]] = WeakKeyDictionary()


def read_tags(view: View) -> dict[bytes, Node]:
    """All tags that point to a changeset of the view, local ones too, without `tip`."""
    tags = global_tags(view)
    local = parse_tags(view.snapshot.local_tags)
    merge_tags(tags, {name: tag for name, tag in local.items() if view.has(tag.node)})
    return {
        name: tag.node for name, tag in tags.items() if tag.node != NULL_NODE and view.has(tag.node)
    }


def global_tags(view: View) -> Tags:
    """Those of the `.hgtags` of all heads, from the lowest revision to the tip."""
    filelog = view.snapshot.filelog(TAG_FILE)
    tags: Tags = {}
    if filelog is None or not filelog.count:
        return tags
    for node in dict.fromkeys(tag_file_nodes(view, filelog)):
        rev = filelog.rev(node)
        if rev is not None and rev >= 0:
            merge_tags(tags, parse_tags(file_text(filelog, rev)))
    return tags


def tag_file_nodes(view: View, filelog: Revlog) -> list[Node]:
    """The node of `.hgtags` in each head that has it, heads from the lowest up."""
    repository = view.snapshot.repository
    known = _known.get(repository, {})
    found: dict[Node, Node] = {}
    cache = None
    for rev in view.graph.heads.tolist():
        head = view.snapshot.changelog.node(rev)
        node = known.get(head)
        if node is None:
            cache = cache or read_hgtags_cache(repository.cache_path)
            node = cache.get(rev, head)
            if node is None or filelog.rev(node) is None:
                node = tag_file_node(view.snapshot, rev)
        found[head] = node
    _known[repository] = found
    return [node for node in found.values() if node != NULL_NODE]


def tag_file_node(snapshot: Snapshot, rev: int) -> Node:
    """From the manifest of one changeset; null where it has no such file. Raises: StoreError."""
    manifest = snapshot.manifest()
    manifest_rev = manifest.rev(snapshot.changelog.manifest_and_files(rev).manifest)
    if manifest_rev is None or manifest_rev < 0:
        return NULL_NODE
    text = manifest.text(manifest_rev)
    try:
        line = find(text, TAG_FILE)
    except StoreError as error:
        raise manifest.fault_in_text(manifest_rev, error.text) from None
    return NULL_NODE if line is None else line.node


def file_text(filelog: Revlog, rev: int) -> bytes:
    """What the file holds: without metadata, nothing when it is censored."""
    try:
        text = filelog.text(rev)
    except CensoredRevision:
        return b""
    return text[text.index(METADATA, 2) + 2 :] if text.startswith(METADATA) else text


def parse_tags(data: bytes) -> Tags:
    """A line that isn't one is passed over."""
    lines: dict[bytes, list[Node]] = {}
    for line in data.splitlines():
        words = line.split(b" ", 1)
        try:
            node = Node(unhexlify(words[0]))
        except ValueError:
            continue
        if len(words) == 2:
            lines.setdefault(words[1].strip(), []).append(node)
    return {name: Tag(nodes[-1], tuple(nodes[:-1])) for name, nodes in lines.items()}


def merge_tags(tags: Tags, later: Tags) -> None:
    """Take `later` in: it wins, except where what it says was superseded by what is there."""
    for name, new in later.items():
        old = tags.get(name)
        tags[name] = new if old is None else merged(old, new)


def merged(old: Tag, new: Tag) -> Tag:
    node = old.node if is_superseded(new, old) else new.node
    known = set(new.history)
    return Tag(node, new.history + tuple(node for node in old.history if node not in known))


def is_superseded(tag: Tag, by: Tag) -> bool:
    """Did `by` point where `tag` does, and move on? Where each knows the other's place as one that
    it has left, the longer history is right.
    """
    if tag.node == by.node or tag.node not in by.history:
        return False
    return by.node not in tag.history or len(by.history) > len(tag.history)
