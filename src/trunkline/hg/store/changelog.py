"""The changelog: one text for each changeset, and what stands in it.

Wire:   manifest node in hex LF user LF seconds SP timezone [SP extra] LF, one file path a line,
        an empty line, the description. Extra: escaped `key:value` items parted by NUL.
Source: hg 7.2.4, mercurial/changelog.py.
"""

from __future__ import annotations

from binascii import unhexlify
from codecs import escape_decode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple, TypeVar

import numpy as np

from trunkline.errors import StoreError
from trunkline.hg.node import NULL_NODE, NULL_REV, Node
from trunkline.hg.store.index import ENTRY_LENGTH, ColumnIndex
from trunkline.hg.store.revlog import ColumnRevlog, parse_columns

T = TypeVar("T")

DEFAULT_BRANCH: Final = b"default"
BATCH: Final = 2048  # revisions looked at together


class ManifestAndFiles(NamedTuple):
    """What a changegroup needs to know of a changeset."""

    manifest: Node
    files: list[bytes]


class BranchAndClosed(NamedTuple):
    """A changeset's named branch, and whether it closes it."""

    branch: bytes
    is_closed: bool


@dataclass(frozen=True, slots=True)
class ChangesetText:
    """One changeset. Texts are UTF-8 as Mercurial stores them, never decoded here.

    Units: `date` in seconds since 1970 and seconds west of UTC, as they are written.
    """

    manifest: Node
    user: bytes
    date: bytes
    branch: bytes
    closed: bool
    extra: dict[bytes, bytes]
    files: list[bytes]
    description: bytes


class Changelog(ColumnRevlog):
    """The changelog up to the snapshot's length."""

    __slots__ = ()

    def entry(self, rev: int) -> ChangesetText:
        return self._parsed(rev, parse_changeset)

    def manifest_and_files(self, rev: int) -> ManifestAndFiles:
        return self._parsed(rev, parse_manifest_and_files)

    def check_parents(self) -> None:
        """That each parent comes before its child: all walks rely on it. Raises: StoreError."""
        below = np.arange(self.count, dtype=np.int32)
        for column in (self.index.p1, self.index.p2):
            bad = np.flatnonzero((column < NULL_REV) | (column >= below))
            if len(bad):
                raise self.fault(int(bad[0]), "has a parent that doesn't come before it")

    def _parsed(self, rev: int, parse: Callable[[bytes], T]) -> T:
        return self.parsed(rev, self.text(rev), parse)

    def parsed(self, rev: int, text: bytes, parse: Callable[[bytes], T]) -> T:
        """What `parse` makes of the text of `rev`. Raises: StoreError."""
        try:
            return parse(text)
        except StoreError as error:
            raise self.fault_in_text(rev, error.text) from None

    def texts(self, revs: Iterable[int]) -> Iterator[bytes]:
        """The texts of many changesets, in the order given, read in large blocks.

        Not checked against the nodes. Changesets are stored whole by every Mercurial of the last
        ten years; where one is a delta, it is put together.
        """
        turn = iter(revs)
        while batch := list(islice(turn, BATCH)):
            if self.index.is_full(batch):
                yield from self.stored_many(batch)
            else:
                yield from (self.unchecked_text(rev) for rev in batch)


def parse_changelog(data: bytes, path: str, previous: Changelog | None = None) -> Changelog:
    """From the bytes of `00changelog.i`. What has been worked out for `previous` is used again
    where the bytes are the same. Raises: StoreError.
    """
    index = parse_columns(data, path)
    if previous is not None:
        if index.raw == previous.index.raw and index.is_cut == previous.index.is_cut:
            return previous
        index.learn(previous.index)
    return Changelog(path, index, data)


def cut_changelog(changelog: Changelog, count: int) -> Changelog:
    """The first `count` changesets. `count` is at least 0 and at most the length."""
    index = changelog.index
    cut = ColumnIndex(index.raw[: count * ENTRY_LENGTH], index.header)
    return Changelog(changelog.path, cut, changelog.held)


def goes_on_from(changelog: Changelog, older: Changelog) -> bool:
    """Whether it has all changesets of the older one. The header may be of another form."""
    return changelog.index.raw[4:].startswith(older.index.raw[4:])


def parse_changeset(text: bytes) -> ChangesetText:
    """Raises: StoreError."""
    if not text:
        return ChangesetText(NULL_NODE, b"", b"0 0", DEFAULT_BRANCH, False, {}, [], b"")
    try:
        head, description = split_description(text)
        manifest, user, date_and_extra, *files = head.split(b"\n")
        seconds, zone, *rest = date_and_extra.split(b" ", 2)
        extra = parse_extra(rest[0]) if rest else {}
        branch = extra.get(b"branch", DEFAULT_BRANCH)
        return ChangesetText(
            Node(unhexlify(manifest)),
            user,
            seconds + b" " + zone,
            branch,
            b"close" in extra,
            extra,
            files,
            description,
        )
    except ValueError as error:
        raise StoreError(f"a changeset's text can't be read ({error})") from None


def parse_manifest_and_files(text: bytes) -> ManifestAndFiles:
    """Raises: StoreError."""
    if not text:
        return ManifestAndFiles(NULL_NODE, [])
    try:
        lines = text[: text.index(b"\n\n")].split(b"\n")
        return ManifestAndFiles(Node(unhexlify(lines[0])), lines[3:])
    except ValueError as error:
        raise StoreError(f"a changeset's text can't be read ({error})") from None


def parse_branch_and_closed(text: bytes) -> BranchAndClosed:
    """Raises: StoreError."""
    date_line = text.split(b"\n", 3)[2:3]
    fields = date_line[0].split(b" ", 2) if date_line else []
    if len(fields) < 3:
        return BranchAndClosed(DEFAULT_BRANCH, False)
    extra = parse_extra(fields[2])
    return BranchAndClosed(extra.get(b"branch", DEFAULT_BRANCH), b"close" in extra)


def split_description(text: bytes) -> tuple[bytes, bytes]:
    """Raises: ValueError."""
    at = text.index(b"\n\n")
    return text[:at], text[at + 2 :]


def parse_extra(text: bytes) -> dict[bytes, bytes]:
    """Raises: StoreError."""
    extra: dict[bytes, bytes] = {}
    for item in text.split(b"\0"):
        if not item:
            continue
        key, separator, value = unescape(item).partition(b":")
        if not separator:
            raise StoreError("a changeset's extra item has no colon")
        extra[key] = value
    return extra


def unescape(text: bytes) -> bytes:
    """Undo Mercurial's escapes of NUL, LF, CR and backslash (older ones wrote more kinds)."""
    if b"\\" not in text:
        return text
    try:
        # Between escaped backslashes a `\0` is NUL, whatever digits follow it.
        return b"\\".join(
            escape_decode(part.replace(b"\\0", b"\0"))[0] for part in text.split(b"\\\\")
        )
    except ValueError as error:
        raise StoreError(f"a changeset's extra can't be unescaped ({error})") from None
