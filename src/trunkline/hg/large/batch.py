"""The request and the reply that come before contents of LFS travel, as JSON.

Source: https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from trunkline.errors import PeerError

JSON = b"application/vnd.git-lfs+json"
INVALID = 422
BASIC = "basic"

Value = TypeVar("Value")


class Wanted(Struct, frozen=True):
    """`size` in bytes."""

    oid: str
    size: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Batch(Struct, frozen=True):
    """What else a client says (`ref`) means nothing here."""

    operation: Literal["upload", "download"]
    objects: list[Wanted]
    transfers: list[str] = field(default_factory=lambda: [BASIC])
    hash_algo: str = "sha256"


class Action(Struct, frozen=True):
    href: str
    header: dict[str, str]


class Fault(Struct, frozen=True):
    code: int
    message: str


class Offered(Struct, frozen=True, omit_defaults=True):
    oid: str
    size: int
    actions: dict[str, Action] | None = None
    error: Fault | None = None


_batch = msgspec.json.Decoder(Batch)
_wanted = msgspec.json.Decoder(Wanted)
_encoder = msgspec.json.Encoder()


def parse_batch(data: bytes) -> Batch:
    """Raises: PeerError, 422 as the specification has it for what is no such request."""
    batch = decoded(_batch, data)
    if BASIC not in batch.transfers:
        raise PeerError("only the basic transfer is known here")
    if batch.hash_algo != "sha256":
        raise PeerError("only sha256 is known here", status=409)
    return batch


def parse_verify(data: bytes) -> Wanted:
    """Raises: PeerError."""
    return decoded(_wanted, data)


def decoded(decoder: msgspec.json.Decoder[Value], data: bytes) -> Value:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise PeerError(f"not a request of LFS: {error}", status=INVALID) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PeerError(f"not JSON: {error}") from None


def format_offered(offered: Offered) -> bytes:
    return _encoder.encode(offered)


def format_message(text: str) -> bytes:
    """An error of the whole request."""
    return _encoder.encode({"message": text})
