"""What a commit stream is made of. Each record's letter and fields: docs/commit-stream.md."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

Change = tuple[bytes, bytes | None]  # name, new value; None removes


class Mode(IntEnum):
    """What must be where a text goes."""

    EITHER = 0  # a file, or nothing
    ADD = 1  # nothing
    OPEN = 2  # a file


class Form(IntEnum):
    WHOLE = 0
    SVNDIFF = 1  # the difference to the text that the file has by then


@dataclass(frozen=True, slots=True)
class Head:
    """`is_question`: nothing is committed, only the outcome of `key` is asked for."""

    key: bytes
    is_question: bool = False


@dataclass(frozen=True, slots=True)
class RevProp:
    name: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class LockToken:
    path: bytes
    token: bytes


@dataclass(frozen=True, slots=True)
class MakeDir:
    path: bytes


@dataclass(frozen=True, slots=True)
class Delete:
    """`base`, here and below: the revision of the node that the sender knew; None: not said."""

    path: bytes
    base: int | None


@dataclass(frozen=True, slots=True)
class Copy:
    source: bytes
    revision: int
    path: bytes


@dataclass(frozen=True, slots=True)
class Props:
    path: bytes
    base: int | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """`Data` follow it, and an `EndText`. MD5s are in hex, of the texts before and after."""

    path: bytes
    base: int | None
    mode: Mode
    form: Form
    base_md5: bytes | None = None
    result_md5: bytes | None = None


@dataclass(frozen=True, slots=True)
class Data:
    block: bytes


@dataclass(frozen=True, slots=True)
class EndText:
    """Units: bytes of all its `Data`."""

    size: int


@dataclass(frozen=True, slots=True)
class End:
    """`digest`: SHA-256 of every byte before it, those of this record, too."""

    release_locks: bool
    operations: int
    digest: bytes


Operation = MakeDir | Delete | Copy | Props | Text
Record = Head | RevProp | LockToken | Operation | Data | EndText | End
