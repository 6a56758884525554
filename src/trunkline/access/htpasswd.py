"""The password file: a line for each user, `USER:HASH`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.access.hashes import KINDS, Kind, find_kind, verify
from trunkline.config.auth import is_user_name
from trunkline.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Entry:
    kind: Kind
    text: str  # the hash


@dataclass(frozen=True, slots=True)
class Passwords:
    """`decoy` is hashed for who isn't there, so that time doesn't tell who is."""

    entries: Mapping[str, Entry]
    decoy: Entry | None

    def hash_of(self, user: str) -> str:
        """ "" for nobody's."""
        entry = self.entries.get(user)
        return entry.text if entry else ""

    def verify(self, user: str, password: bytes) -> bool:
        """Costs CPU time on purpose."""
        entry = self.entries.get(user)
        tried = entry or self.decoy
        is_right = tried is not None and verify(tried.kind, password, tried.text)
        return is_right and entry is not None


NO_PASSWORDS = Passwords({}, None)


def parse_passwords(data: bytes) -> Passwords:
    """What follows a second colon is passed over, as Apache does; of two lines of a user the first
    counts, as there.

    Raises: SettingsError for a line that is none: a user whom it locks out should be told of.
    """
    entries: dict[str, Entry] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        line = line.strip()
        if not line or line.startswith(b"#"):
            continue
        user, colon, rest = line.decode("utf-8", "surrogateescape").partition(":")
        text = rest.partition(":")[0]
        if not (colon and is_user_name(user)):  # the whole line may be a secret
            raise SettingsError(f"line {number}: no name of a user before a colon")
        kind = find_kind(text)
        if kind is None:
            raise SettingsError(
                f"line {number}: the password of {user!r} isn't hashed in a way that we know"
            )
        entries.setdefault(user, Entry(kind, text))
    return Passwords(entries, max(entries.values(), key=effort, default=None))


def effort(entry: Entry) -> tuple[int, str]:
    """Grows with the time that the hash takes, among hashes of one kind at least."""
    return -KINDS.index(entry.kind), entry.text[:8]
