"""A whole file as a reply of the protocol."""

from __future__ import annotations

import os

from trunkline.errors import StoreError
from trunkline.hg.bundle.uvarint import format_uvarint
from trunkline.hg.store.links import why
from trunkline.hg.wire.negotiate import MEDIA_TYPE_0_1
from trunkline.hg.wire.replies import File
from trunkline.reply import Span


def sized_file(path: str) -> File:
    """Its length as a uvarint, then the bytes. Raises: StoreError."""
    length = file_size(path)
    return in_protocol(Span(path, 0, length, format_uvarint(length)), MEDIA_TYPE_0_1)


def file_after(head: bytes, path: str, media_type: bytes) -> File:
    """Raises: StoreError."""
    return in_protocol(Span(path, 0, file_size(path), head), media_type)


def in_protocol(span: Span, media_type: bytes) -> File:
    return File(span, 200, [(b"content-type", media_type)])


def file_size(path: str) -> int:
    """Of one that can be read. Raises: StoreError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as failure:
        raise StoreError(f"can't be read: {why(failure)}", path) from failure
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
