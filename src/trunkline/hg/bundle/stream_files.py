"""The bytes of listed files, in large blocks, checked against what was listed.

Files are opened when their turn comes: a stream of any length holds one descriptor, and of the
files' bytes no more than a block.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from trunkline.errors import StoreError
from trunkline.hg.bundle.revlog_cut import data_end, is_inline, join_inline
from trunkline.hg.bundle.store_files import Listing
from trunkline.hg.bundle.store_folder import INDEX, INLINE, READ, Files
from trunkline.hg.store.index import parse_header

if TYPE_CHECKING:
    from trunkline.hg.store.snapshot import Snapshot

BLOCK: Final = 512 << 10  # bytes that are gathered, at least, before they are sent
SMALL: Final = 192 << 10  # bytes of a file that is read at once and gathered with others
READ_LIMIT: Final = 512 << 10  # bytes of one read of a larger one


def read_files(listing: Listing, files: Files, heads: Iterable[bytes]) -> Iterator[bytes]:
    """Each file's bytes after its head, in blocks of about BLOCK to READ_LIMIT bytes.

    Raises: StoreError when a file no longer has the bytes that were listed.
    """
    open_file, read, close = os.open, os.read, os.close
    descriptor = listing.folder.descriptor
    block: list[bytes] = []
    gathered = data_size = 0
    path = b""
    columns = zip(heads, files.names, files.paths, files.sizes, files.kinds, strict=True)
    try:
        for head, name, path, size, kind in columns:
            block.append(head)
            file = open_file(path, READ, dir_fd=descriptor)
            try:
                if kind == INDEX and data_end(file, size) > data_size:
                    where = listing.folder.join(path)
                    raise StoreError("refers to data that isn't there", where, size)
                data_size = size
                if size > SMALL:
                    yield b"".join(block)
                    block, gathered = [], 0
                    yield from read_with_care(listing, name, path, size, kind, file)
                    continue
                data = read(file, size)
                if len(data) != size or (kind == INLINE and not is_inline(data)):
                    data = b"".join(read_with_care(listing, name, path, size, kind, file))
            finally:
                close(file)
            block.append(data)
            gathered += size
            if gathered >= BLOCK:
                yield b"".join(block)
                block, gathered = [], 0
    except OSError as error:
        raise listing.folder.fault(path, error) from None
    if block:
        yield b"".join(block)


def read_with_care(
    listing: Listing, name: bytes, path: bytes, size: int, kind: int, file: int
) -> Iterator[bytes]:
    """A large file, or one that isn't what it was. Raises: StoreError, OSError."""
    if kind == INLINE and not is_inline(start := os.pread(file, 4, 0)):
        parse_header(start, listing.folder.join(path))
        yield join_again(listing, name, size, file)
        return
    at = 0
    while at < size:
        data = os.pread(file, min(READ_LIMIT, size - at), at)
        if not data:
            raise StoreError(f"became shorter than {size} bytes", listing.folder.join(path), at)
        at += len(data)
        yield data


def join_again(listing: Listing, name: bytes, size: int, index: int) -> bytes:
    """The inline form, `size` bytes long, of a revlog that was split since it was listed.

    Raises: StoreError, OSError.
    """
    data_path = listing.encode(name[:-1] + b"d")
    entries = os.pread(index, size, 0)
    try:
        file = listing.folder.open(data_path)
    except FileNotFoundError:
        # Then each of its revisions is empty, or the join fails.
        return join_inline(entries, b"", size, listing.folder.join(data_path))
    try:
        return join_inline(entries, os.pread(file, size, 0), size, listing.folder.join(data_path))
    finally:
        os.close(file)


def gather(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes with small pieces put together to blocks of at least BLOCK bytes."""
    block: list[bytes] = []
    gathered = 0
    for piece in pieces:
        block.append(piece)
        gathered += len(piece)
        if gathered >= BLOCK:
            yield piece if len(block) == 1 else b"".join(block)
            block, gathered = [], 0
    if block:
        yield b"".join(block)


def confirm(blocks: Iterable[bytes], snapshot: Snapshot) -> Iterator[bytes]:
    """The same blocks; the last one only when the disk still holds the snapshot's changesets.

    Raises: StoreError: a strip has come between, so the files may be cut.
    """
    last = b""
    for block in blocks:
        if last:
            yield last
        last = block
    snapshot.check()
    yield last
