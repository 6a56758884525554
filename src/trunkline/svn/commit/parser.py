"""A commit stream being read."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from trunkline.errors import PeerError
from trunkline.svn.commit.check import check_key, check_name, check_path, check_token
from trunkline.svn.commit.fields import LENGTH, Fields
from trunkline.svn.commit.limits import DATA_BYTES, Limits
from trunkline.svn.commit.names import MAGIC
from trunkline.svn.commit.record import (
    Change,
    Copy,
    Data,
    Delete,
    End,
    EndText,
    Form,
    Head,
    LockToken,
    MakeDir,
    Mode,
    Props,
    Record,
    RevProp,
    Text,
)

HEADER_BYTES = 1 + LENGTH.size
SHA256_BYTES = 32
TOO_LARGE = 413
DATA = ord("B")
END = ord("E")


class Parser:
    """Cuts what it is fed into records.

    Wire:   docs/commit-stream.md.
    Holds:  one record and what `feed` was given.
    Raises: PeerError, 413 past a limit, 400 for all else that is wrong. It's of no use after.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._held = bytearray()
        self._size = 0  # bytes fed
        self._digest = sha256()
        self._is_begun = False
        self._allowed = BEFORE_HEAD
        self._head: Head | None = None
        self._text_size = 0
        self._counts = {"operations": 0, "tokens": 0, "revprops": 0}

    @property
    def is_complete(self) -> bool:
        return self._allowed is AFTER_END

    @property
    def operations(self) -> int:
        """How many were begun."""
        return self._counts["operations"]

    def feed(self, data: bytes) -> list[Record]:
        self._size += len(data)
        if self._size > self._limits.stream:
            raise PeerError(f"a commit stream of more than {self._limits.stream} bytes", TOO_LARGE)
        self._held += data
        records: list[Record] = []
        if self._begin():
            while (record := self._next()) is not None:
                records.append(record)
        return records

    def finish(self) -> None:
        """There is no more. Raises: PeerError unless that was a whole stream."""
        if not self.is_complete:
            raise PeerError(f"the commit stream breaks off after {self._size} bytes")

    def _begin(self) -> bool:
        if self._is_begun:
            return True
        start = bytes(self._held[: len(MAGIC)])
        if not MAGIC.startswith(start):
            raise PeerError("not a commit stream, or of another version")
        if len(start) == len(MAGIC):
            self._take(len(MAGIC))
            self._is_begun = True
        return self._is_begun

    def _take(self, size: int, own: int = 0) -> bytes:
        """Its last `own` bytes are the digest itself."""
        data = bytes(self._held[:size])
        del self._held[:size]
        self._digest.update(data[:-own] if own else data)
        return data

    def _next(self) -> Record | None:
        if not self._held:
            return None
        kind = self._held[0]
        if kind not in self._allowed:
            raise self._wrong(f"record {chr(kind)!r} out of place")
        if len(self._held) < HEADER_BYTES:
            return None
        (size,) = LENGTH.unpack_from(self._held, 1)
        if size > (DATA_BYTES if kind == DATA else self._limits.record):
            raise PeerError(f"commit stream: a record of {size} bytes", TOO_LARGE)
        if len(self._held) < HEADER_BYTES + size:
            return None
        own = SHA256_BYTES if kind == END else 0
        payload = self._take(HEADER_BYTES + size, own)[HEADER_BYTES:]
        try:
            return self._read(kind, payload)
        except PeerError as error:
            if error.status == TOO_LARGE:
                raise
            raise self._wrong(error.text) from None

    def _wrong(self, text: str) -> PeerError:
        at = self._size - len(self._held)
        return PeerError(f"commit stream, before byte {at}: {text}")

    def _read(self, kind: int, payload: bytes) -> Record:
        if kind == DATA:
            return self._read_data(payload)
        fields = Fields(payload)
        record = READERS[kind](fields)
        fields.finish()
        if isinstance(record, Head):
            self._head = record
            self._allowed = ONLY_END if record.is_question else BETWEEN
        elif isinstance(record, EndText):
            if record.size != self._text_size:
                raise PeerError(f"a text of {self._text_size} bytes, said to be {record.size}")
            self._allowed = BETWEEN
        elif isinstance(record, End):
            self._check_end(record)
            self._allowed = AFTER_END
        else:
            self._count(record)
        return record

    def _count(self, record: Record) -> None:
        what = COUNTED.get(type(record), "operations")
        self._counts[what] += 1
        if self._counts[what] > (limit := getattr(self._limits, what)):
            raise PeerError(f"a commit stream of more than {limit} {what}", TOO_LARGE)
        if isinstance(record, Text):
            self._text_size = 0
            self._allowed = IN_TEXT

    def _read_data(self, block: bytes) -> Data:
        if not block:
            raise PeerError("an empty data record")
        self._text_size += len(block)
        if self._text_size > self._limits.text:
            raise PeerError(f"a text of more than {self._limits.text} bytes", TOO_LARGE)
        return Data(block)

    def _check_end(self, end: End) -> None:
        if end.operations != self.operations:
            raise PeerError(f"{self.operations} operations, said to be {end.operations}")
        if end.digest != self._digest.digest():
            raise PeerError("its SHA-256 is another one")


COUNTED = {LockToken: "tokens", RevProp: "revprops"}


def read_head(fields: Fields) -> Head:
    key = fields.string()
    check_key(key)
    return Head(key, bool(fields.byte("a question", 1)))


def read_revprop(fields: Fields) -> RevProp:
    name = fields.string()
    check_name(name)
    return RevProp(name, fields.string())


def read_path(fields: Fields) -> bytes:
    path = fields.string()
    check_path(path)
    return path


def read_token(fields: Fields) -> LockToken:
    path, token = read_path(fields), fields.string()
    check_token(token)
    return LockToken(path, token)


def read_copy(fields: Fields) -> Copy:
    path, source, revision = read_path(fields), read_path(fields), fields.revision()
    if revision is None:
        raise PeerError("a copy from no revision")
    return Copy(source, revision, path)


def read_props(fields: Fields) -> Props:
    path, base = read_path(fields), fields.revision()
    changes: list[Change] = []
    while not fields.is_done:
        name = fields.string()
        check_name(name)
        is_set = fields.byte("whether a property is set", 1)
        changes.append((name, fields.string() if is_set else None))
    return Props(path, base, tuple(changes))


def read_text(fields: Fields) -> Text:
    return Text(
        read_path(fields),
        fields.revision(),
        Mode(fields.byte("a text's mode", max(Mode))),
        Form(fields.byte("a text's form", max(Form))),
        fields.md5(),
        fields.md5(),
    )


def read_end(fields: Fields) -> End:
    releases = bool(fields.byte("whether locks are released", 1))
    return End(releases, fields.count(), fields.bytes(SHA256_BYTES))


READERS: dict[int, Callable[[Fields], Record]] = {
    ord("H"): read_head,
    ord("R"): read_revprop,
    ord("L"): read_token,
    ord("M"): lambda fields: MakeDir(read_path(fields)),
    ord("D"): lambda fields: Delete(read_path(fields), fields.revision()),
    ord("C"): read_copy,
    ord("P"): read_props,
    ord("T"): read_text,
    ord("Z"): lambda fields: EndText(fields.count()),
    ord("E"): read_end,
}

# Records that may come next.
BEFORE_HEAD = b"H"
BETWEEN = b"RLMDCPTE"
IN_TEXT = b"BZ"
ONLY_END = b"E"
AFTER_END = b""
