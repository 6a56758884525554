"""Tokens: secrets that machines log in with, each for one user, some repositories and a time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from trunkline.access.identity import Scope
from trunkline.config.auth import is_user_name
from trunkline.errors import SettingsError

PREFIX = "trunkline_"  # by which a token that leaked is found
ID_BYTES = 6
SECRET_BYTES = 32  # beyond guessing, so that one fast hash is enough
VERSION = 1
NO_HASH = "0" * 64


class Token(Struct, frozen=True, forbid_unknown_fields=True):
    """As it is stored: the secret's SHA-256, never the secret. `expires` None: never."""

    id: str
    hash: str
    user: str
    created: datetime
    repositories: tuple[str, ...] = ("**",)
    write: bool = False
    expires: datetime | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if not is_user_name(self.user):
            raise ValueError(f"{self.user!r} can be no user")
        if not (self.id.isascii() and self.id.isalnum()):  # it names a file, too
            raise ValueError(f"{self.id!r} can be no token's id")
        if any(time is not None and time.tzinfo is None for time in (self.created, self.expires)):
            raise ValueError("a time needs its zone")

    @property
    def scope(self) -> Scope:
        return Scope(self.repositories, self.write)

    def is_expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now


class Stored(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    version: int = VERSION
    tokens: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class Tokens:
    by_id: Mapping[str, Token] = field(default_factory=dict)

    def find(self, text: str, now: datetime) -> Token | None:
        """The token whose secret this is, if it is still good."""
        name = text.removeprefix(PREFIX).partition("_")[0]
        token = self.by_id.get(name)
        is_right = hmac.compare_digest(digest(text), token.hash if token else NO_HASH)
        if token is None or not is_right or token.is_expired(now):
            return None
        return token


NO_TOKENS = Tokens()


@dataclass(frozen=True, slots=True)
class Made:
    """`text` is shown once, and then known to its holder only."""

    token: Token
    text: str


def make_token(
    user: str,
    repositories: tuple[str, ...],
    may_write: bool,
    expires: datetime | None,
    note: str = "",
) -> Made:
    """Raises: ValueError for what can be no user."""
    name = secrets.token_hex(ID_BYTES)
    text = f"{PREFIX}{name}_{secrets.token_urlsafe(SECRET_BYTES)}"
    now = datetime.now(UTC).replace(microsecond=0)
    return Made(Token(name, digest(text), user, now, repositories, may_write, expires, note), text)


def looks_like_token(text: bytes) -> bool:
    return text.startswith(PREFIX.encode())


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def parse_tokens(data: bytes) -> Tokens:
    """Raises: SettingsError."""
    try:
        stored = msgspec.json.decode(data, type=Stored) if data.strip() else Stored()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"no file of tokens: {' '.join(str(error).split())}") from None
    if stored.version != VERSION:
        raise SettingsError(f"a file of tokens of version {stored.version}, we know {VERSION}")
    return Tokens({token.id: token for token in stored.tokens})


def format_tokens(tokens: Tokens) -> bytes:
    text = msgspec.json.encode(Stored(tokens=tuple(tokens.by_id.values())))
    return msgspec.json.format(text, indent=1) + b"\n"
