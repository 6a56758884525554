"""A commit stream being written."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from trunkline.svn.commit.check import check_key, check_name, check_path, check_token
from trunkline.svn.commit.fields import (
    COUNT,
    LENGTH,
    format_md5,
    format_revision,
    format_string,
)
from trunkline.svn.commit.limits import DATA_BYTES
from trunkline.svn.commit.names import MAGIC
from trunkline.svn.commit.record import Change, Form, Mode

CUT = 256 * 1024  # bytes of a data record, at most
assert CUT <= DATA_BYTES


class Encoder:
    """Each call gives the bytes to send now. What is given up is just not sent on: a stream
    without its end commits nothing.

    Raises: ValueError for a call out of order; PeerError for values that the format has no room
    for, where the fault is of whoever they came from.
    """

    def __init__(self, key: bytes) -> None:
        check_key(key)
        self._key = key
        self._digest = sha256()
        self._is_begun = self._is_ended = False
        self._text_size: int | None = None
        self._operations = 0

    def begin(self) -> bytes:
        return self._begin(is_question=False)

    def _begin(self, is_question: bool) -> bytes:
        if self._is_begun:
            raise ValueError("begun twice")
        self._is_begun = True
        self._digest.update(MAGIC)
        return MAGIC + self._record(b"H", format_string(self._key) + bytes([is_question]))

    def revprop(self, name: bytes, value: bytes) -> bytes:
        check_name(name)
        return self._between(b"R", format_string(name) + format_string(value))

    def lock_token(self, path: bytes, token: bytes) -> bytes:
        check_path(path)
        check_token(token)
        return self._between(b"L", format_string(path) + format_string(token))

    def mkdir(self, path: bytes) -> bytes:
        return self._operation(b"M", path, b"")

    def delete(self, path: bytes, base: int | None) -> bytes:
        return self._operation(b"D", path, format_revision(base))

    def copy(self, source: bytes, revision: int, path: bytes) -> bytes:
        check_path(source)
        return self._operation(b"C", path, format_string(source) + format_revision(revision))

    def props(self, path: bytes, base: int | None, changes: Iterable[Change]) -> bytes:
        pieces = [format_revision(base)]
        for name, value in changes:
            check_name(name)
            pieces.append(format_string(name) + bytes([value is not None]))
            if value is not None:
                pieces.append(format_string(value))
        return self._operation(b"P", path, b"".join(pieces))

    def text(
        self,
        path: bytes,
        base: int | None,
        mode: Mode,
        form: Form,
        base_md5: bytes | None = None,
        result_md5: bytes | None = None,
    ) -> bytes:
        """`data` follow, and `end_text`."""
        rest = format_revision(base) + bytes([mode, form])
        rest += format_md5(base_md5) + format_md5(result_md5)
        record = self._operation(b"T", path, rest)
        self._text_size = 0
        return record

    def data(self, block: bytes) -> bytes:
        if self._text_size is None:
            raise ValueError("data outside a text")
        self._text_size += len(block)
        cuts = range(0, len(block), CUT)
        return b"".join(self._record(b"B", block[at : at + CUT]) for at in cuts)

    def end_text(self) -> bytes:
        if self._text_size is None:
            raise ValueError("no text to end")
        size, self._text_size = self._text_size, None
        return self._record(b"Z", COUNT.pack(size))

    def end(self, release_locks: bool) -> bytes:
        """`release_locks`: those whose tokens were given, after the commit."""
        fields = bytes([release_locks]) + COUNT.pack(self._operations)
        head = b"E" + LENGTH.pack(len(fields) + self._digest.digest_size) + fields
        self._need_between()
        self._is_ended = True
        self._digest.update(head)
        return head + self._digest.digest()

    def _operation(self, kind: bytes, path: bytes, rest: bytes) -> bytes:
        check_path(path)
        record = self._between(kind, format_string(path) + rest)
        self._operations += 1
        return record

    def _between(self, kind: bytes, payload: bytes) -> bytes:
        self._need_between()
        return self._record(kind, payload)

    def _need_between(self) -> None:
        if not self._is_begun or self._is_ended or self._text_size is not None:
            raise ValueError("out of order")

    def _record(self, kind: bytes, payload: bytes) -> bytes:
        record = kind + LENGTH.pack(len(payload)) + payload
        self._digest.update(record)
        return record


def encode_question(key: bytes) -> bytes:
    """A whole stream that asks what became of `key`."""
    encoder = Encoder(key)
    return encoder._begin(is_question=True) + encoder.end(False)
